"""Our functions in the user's zsh; `shell_startup.py` says what they are for. Pure: a text."""

ZSH = r"""
if [ -n "${__aish_home-}" ]; then ZDOTDIR=$__aish_home; else unset ZDOTDIR; fi
unset __aish_home
__aish_traps='@TRAPS@' __aish_store='@STORE@'
__aish_again=0 __aish_then='__aish_status "$__aish_again" || builtin eval "$__aish_store"'
__aish_set= __aish_keys= __aish_ps1= __aish_rps1= __aish_said= __aish_was=0 __aish_pipe=0
__aish_text= __aish_line= __aish_last= __aish_state= __aish_visible= __aish_guard=
typeset -aU __aish_hooks __aish_before
typeset -a __aish_codes
__aish_status() { return "$1"; }
__aish_get() {
    local __aish_typed= __aish_first= __aish_after= __aish_one
    {
        IFS= builtin read -r -d '' __aish_typed; IFS= builtin read -r -d '' __aish_first
        IFS= builtin read -r -d '' __aish_line; IFS= builtin read -r -d '' __aish_after
    } <'@LINE@'
    __aish_text=$__aish_first$__aish_line$__aish_after
    [ -z "$__aish_typed" ] || __aish_keep "$__aish_typed"
    __aish_state=got
    case $2 in *e*) __aish_watch ;; esac
    builtin printf '\e]6973;@TOKEN@;C;%s\a' "$1" >'@TTY@'
    if [ "${#__aish_before[@]}" -gt 0 ]; then
        __aish_show  # a hook may remove itself
        for __aish_one in "${__aish_before[@]}"; do
            (( ! ${+functions[$__aish_one]} )) || "$__aish_one" "$__aish_line" "$__aish_line" "$__aish_line"
        done </dev/null >'@TTY@' 2>&1
        __aish_plain
    fi
}
__aish_keep() {
    if [[ -n $__aish_spaces && $1 = ' '* ]]; then return; fi
    builtin print -rs -- "$1"
    [ -z "${HISTFILE-}" ] || builtin fc -AI
}
__aish_on() {
    case $1 in *p*) __aish_show ;; esac
    __aish_restore
    case $__aish_set in *u*) unsetopt unset ;; esac
    case $__aish_set in *v*) builtin print -r -- "$__aish_line" >'@TTY@'; setopt verbose ;; esac
    case $__aish_set in *e*) setopt err_exit ;; esac
    return "$2"
}
__aish_off() {
    local __aish_status=$?
    __aish_quiet
    __aish_was=$__aish_status __aish_state=off __aish_last=$1 __aish_pipe=$2
    while [ "$#" -gt 2 ]; do shift; __aish_pipe="$__aish_pipe|$2"; done
}
__aish_quiet() {
    local __aish_on=
    if [[ -o xtrace ]]; then __aish_on=x; fi
    if [[ -o verbose ]]; then __aish_on=${__aish_on}v; fi
    if [[ ! -o unset ]]; then __aish_on=${__aish_on}u; fi
    if [[ -o err_exit ]]; then __aish_on=${__aish_on}e; fi
    unsetopt verbose err_exit; setopt unset
    __aish_set=$__aish_on
    if [[ -o vi ]]; then __aish_keys=i; unsetopt vi; fi
    if [[ -o emacs ]]; then __aish_keys=m; unsetopt emacs; fi
}
__aish_show() {
    emulate -L zsh
    PS1=$__aish_ps1 RPS1=$__aish_rps1 __aish_visible=1
    precmd_functions=(${__aish_hooks:#__aish_precmd}) preexec_functions=(${__aish_before:#__aish_preexec})
    (( ! ${+functions[__aish_precmd]} )) || functions -c __aish_precmd precmd
    (( ! ${+functions[__aish_preexec]} )) || functions -c __aish_preexec preexec
}
__aish_plain() {
    emulate -L zsh
    if [[ -n $__aish_visible ]]; then
        __aish_hooks=() __aish_before=()
        unfunction __aish_precmd __aish_preexec 2>/dev/null
    fi
    if (( ${+functions[precmd]} )); then
        functions -c precmd __aish_precmd; unfunction precmd
        __aish_hooks=(__aish_precmd $__aish_hooks)
    fi
    if (( ${+functions[preexec]} )); then
        functions -c preexec __aish_preexec; unfunction preexec
        __aish_before=(__aish_preexec $__aish_before)
    fi
    __aish_hooks+=($precmd_functions) __aish_before+=($preexec_functions)
    precmd_functions=() preexec_functions=()
    if [[ -n $PS1$__aish_visible ]]; then __aish_ps1=$PS1 __aish_rps1=$RPS1; fi
    __aish_visible= PS1= PS2= RPS1=
}
__aish_case='case $ZSH_DEBUG_CMD in *__aish_*) ;; *)
' __aish_esac='
;; esac'
__aish_parse() {
    emulate -L zsh
    local -a words=("${(@Q)${(z)"$(<$__aish_traps)"}}")
    local -i at
    local code
    __aish_codes=()
    for (( at = 1; at + 3 <= $#words; at++ )); do
        if [[ $words[at] = trap && $words[at+1] = -- && $words[at+2] != __aish_stop ]]; then
            code=${${words[at+2]#"$__aish_case"}%"$__aish_esac"}
            [[ $words[at+3] != ZERR ]] || __aish_codes+=("$code" ZERR)
            [[ $words[at+3] != DEBUG ]] || __aish_codes+=("$__aish_case$code$__aish_esac" DEBUG)
        fi
    done
}
__aish_restore() {
    [ -s "$__aish_traps" ] || return 0
    __aish_parse
    : >|"$__aish_traps"
    set -- "${__aish_codes[@]}"
    while [ "$#" -ge 2 ]; do trap -- "$1" "$2"; shift 2; done
}
__aish_watch() { trap __aish_stop ZERR; }
__aish_stop() {
    local __aish_status=$?
    [[ -o err_exit ]] || return "$__aish_status"
    [ "$ZSH_SUBSHELL" = 0 ] || exit "$__aish_status"
    __aish_quiet
    __aish_plain
    __aish_was=$__aish_status __aish_state=off __aish_last= __aish_pipe=$__aish_status
    { : "${__aish_none:?}"; } 2>/dev/null
}
__aish_tidy() {
    local __aish_status=$? __aish_stored=0
    if [ "$__aish_state" = got ]; then
        __aish_stored=1
        __aish_quiet
        __aish_was=$__aish_status __aish_last= __aish_pipe=$__aish_status
    fi
    __aish_state= __aish_text= __aish_line=
    __aish_plain
    return "$__aish_stored"
}
__aish_end() {
    local __aish_status=$? __aish_one
    __aish_again=0
    if [ "$__aish_said" = "$1" ] && [ "$__aish_state" != got ]; then __aish_mark "$1"; return 0; fi
    __aish_status "$__aish_status"
    __aish_tidy
    __aish_again=$?
    if [ "$__aish_said" != "$1" ]; then
        __aish_said=$1
        if [ "${#__aish_hooks[@]}" -gt 0 ]; then
            __aish_show
            for __aish_one in "${__aish_hooks[@]}"; do
                (( ${+functions[$__aish_one]} )) || continue
                eval "__aish_status ${__aish_pipe//|/ | __aish_status }
                \"\$__aish_one\""
            done </dev/null >'@TTY@' 2>&1
            __aish_plain
        fi
    fi
    __aish_mark "$1"
    { jobs -r; jobs -s; } >|'@JOBS@'  # after the mark, because nobody waits for it
}
__aish_mark() {
    local LC_ALL=C __aish_flags=$__aish_set$__aish_keys
    if [ -s "$__aish_traps" ]; then __aish_flags=${__aish_flags}t; fi
    builtin printf '\e]6973;@TOKEN@;D;%s;%s;%s;%s;%s;%s\a' "$1" "$__aish_was" "$__aish_pipe" "$__aish_flags" \
        "${#PWD}" "$PWD" >'@TTY@'
}
__aish_words() { { builtin printf '%s\n' "$PATH"; alias; echo; echo --
    print -l -- ${(k)functions} ${(k)builtins}; echo --; print -l -- ${(k)parameters}; } >|"$1"; }
__aish_prompt() {
    __aish_status "$__aish_was"
    builtin print -rn -- "${(%%)__aish_ps1}" >|"$1"
}
__aish_past() { builtin print -r -- "$1 ${history[$1]-}" >|"$2"; }
__aish_rules() {
    emulate -L zsh
    setopt extended_glob
    local __aish_one
    {
        print -r -- "fpath=(${(@qq)fpath}); __aish_begin ${(qq)_comp_dumpfile-} ${(@qq)fpath}"
        for __aish_one in _comps _services _patcomps _postpatcomps; do
            [[ ${(Pt)__aish_one} != association* ]] || print -r -- "$__aish_one=(${(@kvqq)${(@kvP)__aish_one}})"
        done
        functions -- ${${(k)functions[(R)^builtin autoload -X*]}:#(__aish_*|TRAP*|precmd|preexec|chpwd|periodic|\
            zshaddhistory|zshexit|compadd|compdef|compinit|_main_complete|-ftb*|.autocomplete*)}
        for __aish_one in ${(k)parameters[(R)*export*]}; do  # not all, because some are secrets
            [[ $__aish_one != *(DIR|ROOT|PATH|PREFIX|PROFILE|CONTEXT|CONFIG|ENV|HOST) ]] || typeset -p -- $__aish_one
        done
        alias -L; zstyle -L
    } >|"$1"
    : >|"$1.done"
}
: >|"$__aish_traps"
{
    for __aish_file in @USERS@; do
        [ ! -r "${ZDOTDIR:-$HOME}/$__aish_file" ] || . "${ZDOTDIR:-$HOME}/$__aish_file" || :
    done <'@TTY@'
    {
        __aish_quiet
        @STORE@
        unset __aish_file
        case $(bindkey -lL main) in *viins*) __aish_keys=i ;; esac
        unsetopt zle prompt_cr prompt_sp
        if [[ -o hist_ignore_space ]]; then __aish_spaces=1; else __aish_spaces=; fi
        setopt aliases monitor interactive_comments hist_ignore_space
        __aish_plain
    } >/dev/null 2>&1
}
"""
