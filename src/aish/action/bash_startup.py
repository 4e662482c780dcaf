"""Our functions in the user's bash; `shell_startup.py` says what they are for. Pure: a text."""

BASH = r"""
__aish_traps='@TRAPS@' __aish_store='@STORE@'
__aish_then='builtin eval "$__aish_run"; __aish_over || builtin eval "$__aish_store"'
__aish_run= __aish_number= __aish_again=0 __aish_ps0=
__aish_set= __aish_keys= __aish_ps1= __aish_said= __aish_guard= __aish_was=0 __aish_pipe=0
__aish_text= __aish_line= __aish_last= __aish_hooks=() __aish_state= __aish_visible=
__aish_debug= __aish_skipped=0
__aish_status() { return "$1"; }
__aish_get() {
    local __aish_typed= __aish_first= __aish_after=
    {
        IFS= builtin read -r -d '' __aish_typed; IFS= builtin read -r -d '' __aish_first
        IFS= builtin read -r -d '' __aish_line; IFS= builtin read -r -d '' __aish_after
    } <'@LINE@'
    __aish_text=$__aish_first$__aish_line$__aish_after
    [ -z "$__aish_typed" ] || __aish_keep "$__aish_typed"
    __aish_state=got
    case $2 in *e*) __aish_watch ;; esac
    builtin printf '\e]6973;@TOKEN@;C;%s\a' "$1" >'@TTY@'
    [ -z "$__aish_ps0" ] || builtin printf '%s' "${__aish_ps0@P}" >'@TTY@' 2>&1
}
__aish_keep() {
    case ${HISTCONTROL-} in *ignorespace*|*ignoreboth*) [ "${1# }" = "$1" ] || return 0 ;; esac
    builtin history -s -- "$1"
    [ -z "${HISTFILE-}" ] || builtin history -a
}
__aish_on() {
    case $1 in *p*) __aish_show ;; esac
    __aish_restore
    case $__aish_set in *u*) builtin set -u ;; esac
    case $__aish_set in *v*) builtin set -v ;; esac
    case $__aish_set in *e*) builtin set -e ;; esac
    case $__aish_set in *x*) builtin set -x ;; esac
    return "$2"
}
__aish_off() {
    local __aish_status=$?
    if [ "$__aish_guard" = stopped ]; then builtin set -- '' "$__aish_was"; __aish_status=$__aish_was; fi
    __aish_quiet
    __aish_was=$__aish_status __aish_state=off __aish_last=$1 __aish_pipe=$2
    while [ "$#" -gt 2 ]; do shift; __aish_pipe="$__aish_pipe|$2"; done
}
__aish_quiet() {
    local __aish_on=
    if [[ -o xtrace ]]; then __aish_on=x; fi
    if [[ -o verbose ]]; then __aish_on=${__aish_on}v; fi
    if [[ -o nounset ]]; then __aish_on=${__aish_on}u; fi
    if [[ -o errexit ]]; then __aish_on=${__aish_on}e; fi
    builtin set +xveu
    __aish_set=$__aish_on
    if [[ -o vi ]]; then __aish_keys=i; . '@EDITING@'; fi
    if [[ -o emacs ]]; then __aish_keys=m; . '@EDITING@'; fi
    if [ "$__aish_guard" = stopped ]; then
        shopt -u extdebug
        builtin set +T
        __aish_set=${__aish_set}e
        [ -z "$__aish_debug" ] || builtin printf 'trap -- %q DEBUG\n' "$__aish_debug" >>"$__aish_traps"
    fi
    if [ -n "$__aish_guard" ]; then __aish_guard=; builtin set +E; fi
}
__aish_show() {
    __aish_visible=1
    declare -g PS0="$__aish_ps0"
    declare -g PS1="$__aish_ps1"  # `declare`, because an assignment to a readonly variable would end the function
    case ${#__aish_hooks[@]} in
        0) ;;
        1) declare -g PROMPT_COMMAND="${__aish_hooks[0]}" ;;
        *) declare -ga PROMPT_COMMAND=("${__aish_hooks[@]}") ;;
    esac
}
__aish_plain() {
    if [ -n "$__aish_visible" ]; then __aish_hooks=(); fi
    if [ -n "${PROMPT_COMMAND+set}${PROMPT_COMMAND[*]+set}" ]; then
        __aish_hooks=("${PROMPT_COMMAND[@]}"); unset PROMPT_COMMAND
    fi
    if [ -n "${PS1-}$__aish_visible" ]; then __aish_ps1=${PS1-}; fi
    if [ -n "${PS0-}$__aish_visible" ]; then __aish_ps0=${PS0-}; fi
    __aish_visible=
    declare -g PS0= PS1= PS2=
}
__aish_case='case ${FUNCNAME[0]-}/$BASH_COMMAND in __aish_*|*__aish_*|/"trap - DEBUG ERR RETURN") ;; *)
' __aish_esac='
;; esac'
__aish_restore() {
    local __aish_text= __aish_list=()
    __aish_debug=
    [ -s "$__aish_traps" ] || return 0
    IFS= builtin read -r -d '' __aish_text <"$__aish_traps"
    : >|"$__aish_traps"
    builtin eval "__aish_list=($__aish_text)"
    builtin set -- "${__aish_list[@]}"
    while [ "$#" -ge 4 ]; do
        __aish_text=$3
        if [ "$4" = DEBUG ] && [ -n "$3" ]; then
            __aish_text=${__aish_text#"$__aish_case"}
            __aish_debug=${__aish_text%"$__aish_esac"}
            __aish_text=$__aish_debug
            case $__aish_set in *v*) ;; *) __aish_text=$__aish_case$__aish_debug$__aish_esac ;; esac  # -v shows traps
        fi
        if [ "${3#__aish_s}" = "$3" ] && [ "$3" != - ]; then  # in posix mode, `-` stands for no trap
            trap -- "$__aish_text" "$4"
        fi
        shift 4
    done
}
__aish_watch() {
    if [[ -o errtrace ]]; then return 0; fi
    __aish_guard=1
    builtin set -E
    trap __aish_stop ERR
}
__aish_stop() {
    local __aish_status=$?
    [[ -o errexit ]] || return "$__aish_status"
    [ "$BASHPID" = "$$" ] || exit "$__aish_status"
    builtin set +e
    trap - ERR
    __aish_was=$__aish_status __aish_guard=stopped __aish_skipped=0
    shopt -s extdebug
    builtin set -T
    trap __aish_skip DEBUG
}
__aish_skip() {
    case ${FUNCNAME[1]-}/$BASH_COMMAND in __aish_*|*__aish_*|/"trap - DEBUG ERR RETURN") return 0 ;; esac
    __aish_skipped=$((__aish_skipped + 1))
    [ "$__aish_skipped" -lt 1000 ] || exit "$__aish_was"
    [ -z "${FUNCNAME[1]-}" ] || return 2
    return 1
}
__aish_tidy() {
    local __aish_status=$? __aish_stored=0
    if [ "$__aish_state" = got ]; then
        __aish_stored=1
        [ "$__aish_guard" != stopped ] || __aish_status=$__aish_was
        __aish_quiet
        __aish_was=$__aish_status __aish_last= __aish_pipe=$__aish_status
    fi
    __aish_state= __aish_text= __aish_line=
    __aish_plain
    return "$__aish_stored"
}
__aish_end() {
    local __aish_status=$? __aish_one
    __aish_run= __aish_number=$1 __aish_again=0
    if [ "$__aish_said" = "$1" ] && [ "$__aish_state" != got ]; then return 0; fi
    __aish_status "$__aish_status"
    __aish_tidy
    __aish_again=$?
    if [ "$__aish_said" = "$1" ] || [ "${#__aish_hooks[@]}" = 0 ]; then __aish_said=$1; return 0; fi
    __aish_said=$1
    __aish_show
    for __aish_one in "${!__aish_hooks[@]}"; do
        __aish_run+="__aish_status ${__aish_pipe//|/ | __aish_status } \"\$__aish_last\""$'\n'
        __aish_run+="builtin eval \"\${__aish_hooks[$__aish_one]}\""$'\n'
    done
    __aish_run="{ $__aish_run} </dev/null >'@TTY@' 2>&1; { $__aish_store; } >/dev/null 2>&1"
}
__aish_over() {
    if [ -n "$__aish_visible" ]; then __aish_again=1; __aish_plain; fi  # after hooks, also those that Ctrl-C ended
    __aish_run=
    __aish_mark "$__aish_number"
    { jobs -r; jobs -s; } >|'@JOBS@'  # after the mark, because nobody waits for it
    return "$__aish_again"
}
__aish_mark() {
    local LC_ALL=C __aish_flags=$__aish_set$__aish_keys
    if [ -s "$__aish_traps" ]; then __aish_flags=${__aish_flags}t; fi
    builtin printf '\e]6973;@TOKEN@;D;%s;%s;%s;%s;%s;%s\a' "$1" "$__aish_was" "$__aish_pipe" "$__aish_flags" \
        "${#PWD}" "$PWD" >'@TTY@'
}
__aish_words() { { builtin printf '%s\n' "$PATH"; alias -p; echo; echo --; compgen -A function; echo --
    compgen -v; } >|"$1"; }
__aish_prompt() {
    __aish_status "$__aish_was"
    builtin printf '%s' "${__aish_ps1@P}" >|"$1"
}
__aish_past() { builtin fc -l "$1" "$1" >|"$2"; }  # with the number: a wrong one gives other commands
__aish_rules() { { declare -f; complete -p; } >|"$1"; : >|"$1.done"; }
readonly -f __aish_status __aish_get __aish_keep __aish_on __aish_off __aish_quiet __aish_show __aish_plain \
    __aish_restore __aish_watch __aish_stop __aish_skip __aish_tidy __aish_end __aish_over __aish_mark \
    __aish_words __aish_prompt __aish_past __aish_rules
: >|"$__aish_traps"
{
    bind() { :; }
    for __aish_profile in ~/.bash_profile ~/.bash_login ~/.profile; do [ ! -r "$__aish_profile" ] || break; done
    for __aish_file in @USERS@; do
        [ ! -r "$__aish_file" ] || . "$__aish_file" || :
    done <'@TTY@'
    {
        @STORE@
        __aish_quiet
        unset -f bind; unset __aish_file __aish_profile
        set +o history
        shopt -s expand_aliases
        __aish_plain
    } >/dev/null 2>&1
}
"""
