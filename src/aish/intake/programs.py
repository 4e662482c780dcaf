"""Tables of programs: their names, subcommands and operands.

Pure: tables, and one rule about mistyped names.
"""

from collections.abc import Sequence

from aish.intake.vocabulary import Clues, is_everyday, word_set

# English words that seldom start a request, so the arguments decide.
NOUNS = word_set("""
    alias ansible apt bash bc black brew bridge bundle cal cat clear code column command date dc diff dir disown
    docker echo enable env eval exec exit export expr file firefox fish free gh go groups halt hash head history host
    hostname id idle info jar java jobs kind la link local logger login mail man mount nl node passwd perl ping pip
    poweroff prove python ranger reboot rename reset rev ruby screen script service shell shift shutdown source stat
    strings su sync tail tar timeout top tree umount unset unzip users vi view wall wget yarn zip
""")
# Useful without arguments, and the word alone has no other likely meaning.
BARE = word_set("""
    alias bash cal cat clear code date declare dir docker env exit export find finger free go groups halt history id
    false info jobs just kill last locale login logout mail make mount node passwd perl poweroff python reboot reset
    route ruby screen set sort test times top tree true umount uptime users w wait who
""")

# These change the machine, so the user is asked when the evidence is weak.
CHANGING = word_set("""
    apt apt-get at chmod chown cp crontab dd dnf export fdisk halt install kill link ln make mkfs mount mv open pacman
    patch poweroff reboot rename reset rm rmdir set shred shutdown split tee touch truncate umount unset useradd
    userdel wall write yum
""")
# These print, speak or store any text, so prose is valid input.
SPEAKERS = word_set("echo printf figlet toilet cowsay cowthink espeak wall notify-send banner lolcat logger jrnl")
# English words that every system has as commands. Others were installed by the user, who then means the program.
STANDARD_WORDS = word_set("""
    alias animate apply as at batch bind break bridge builtin case cat clear column command compare complete compose
    composite continue convert cut dash date diff dir display do done edit editor elif else enable env exit expand
    export false file find finger for free from function groups hash head help history host hostname if import in info
    init install jar jobs join kill last less let link local locale login logout look mail make man more mount nice
    open paste patch play print prove read reboot red rename reset return route script see select service set shift
    size skill sleep sort source split stat strip sum suspend sync tabs tail test then time timeout times top touch
    tree true truncate type umount unset until users view wait wall watch wget where which while who wish write yes
    zip
""")
# Their operands are files, addresses, patterns or scripts. Several plain words after them are a request.
STRICT = word_set("""
    7z ag arp awk bunzip2 bzip2 clang clang++ clang-format cron crontab curl df dig dmesg dpkg du exiftool fd ffmpeg
    ffplay ffprobe g++ gawk gcc gpg gunzip gzip iconv ifconfig iptables javac jq lftp ls lsblk lsof lynx lz4 magick
    make mogrify mtr mysql mysqldump nc ncat netcat netstat nginx nmap nslookup objdump openssl pandoc parallel
    pdftotext pg_dump pgrep pigz pkill ps psql pytest rg ripgrep rpm rsync rustc scp sed seq sftp shellcheck socat
    sqlite3 ss ssh ssh-add ssh-copy-id ssh-keygen sshfs sysctl tcpdump telnet tr traceroute tsc unrar unxz wget whois
    xargs xmllint xz yt-dlp zcat zgrep zstd grep egrep fgrep rm rmdir ln cp mv chmod chown chgrp bash sh zsh fish
    python python2 python3 node ruby perl php lua java deno julia Rscript vim nvim vi nano emacs less more env exit
""")
# Another command follows these.
PREFIXES = word_set("sudo doas time nohup exec command builtin nice ionice setsid stdbuf unbuffer eval xargs env")

# Treated as commands even when they are not installed.
WELL_KNOWN = word_set("""
    7z R adb ag airflow aish ansible ansible-playbook apache2 apk apt apt-cache apt-get aptitude arp asciinema at atop
    autossh awk aws az azcopy bandwhich bat bazel bc black blkid brew btop bun bundle bunzip2 bzip2 cal cargo cat
    ccache cfssl chezmoi chmod choco chown chsh clang clang++ clang-format cmake code composer conda consul convert
    cowsay cp crontab cscope ctags ctest curl cypress dart date dbus-send dc deno df dig direnv dmesg dmidecode dnf
    docker docker-compose doctl dotnet dpkg du duf dust efibootmgr elinks elixir emacs erl esbuild eslint ethtool exa
    exiftool eza factor fail2ban-client fastfetch fd fdisk ffmpeg ffplay ffprobe figlet file find finger firefox
    firewall-cmd fish flake8 flask flatpak flutter fly flyctl fping free fzf g++ gcc gcloud gdb gem gh ghc ghci git
    git-lfs gitk gitui glances gnuplot go gofmt gparted gpg gradle grep groovy gunicorn gzip haproxy head helm
    helmfile heroku hexyl hg host htop http httpie hugo hyperfine iconv id identify ifconfig iftop ifup influx info
    inkscape iotop ip ipcalc iperf iperf3 iptables ipython irb isort iwconfig java javac jekyll jest jq julia jupyter
    just k3d k3s k6 k9s kafka-topics kill kind kubectl kubectx kubens kustomize lazydocker lazygit ldd less lftp lldb
    ln logrotate look ls lsblk lscpu lsd lsof lspci lsusb lua luarocks lvcreate lvs lynx lz4 magick make man mariadb
    mc md5sum meson micro minikube mix mkdir mktemp mocha mogrify mongo mongodump mongosh more mosh mpv mtr multipass
    mv mvn mypy mysql mysqldump nano nc ncat ncdu neofetch neovim netcat netstat nextflow nft ng nginx nice ninja nix
    nix-env nix-shell nload nmap nmcli node nodemon nomad npm npx nslookup ntpdate nvidia-smi nvim nvm nvtop objdump
    ollama open openssl opkg packer pacman pandoc parallel parted pdftotext perf perl pg_dump pg_restore pgrep php
    pigz ping pip pip3 pipenv pipx pkill play playwright pnpm podman poetry poweroff powershell pre-commit prettier
    procs protoc ps psql pstree pulumi puppet pv pwd pwsh py pyenv pylint pytest python python2 python3
    qemu-system-x86_64 r2 rails rake ranger rbenv rclone reboot redis-cli redis-server restic rg ripgrep rm rmdir
    rmmod rpm rspec rsync ruby ruff rustc rustup salt sass scala scp screen scrot sed seq service sftp shellcheck
    shutdown sl sleep smartctl snakemake snap socat sort spark-submit speedtest sqlite3 sqlmap ss ssh ssh-add
    ssh-copy-id ssh-keygen sshfs starship strace streamlit strings stylua su sudo supervisorctl svn swaks swift sysctl
    systemctl systemd-analyze tac tail tailscale tar tcpdump tcsh tee telnet terraform terragrunt tesseract tig time
    timedatectl timeshift tldr tmux tokei top touch tox tr traceroute trash tree tsc tshark tsx turbo typst ufw unar
    uniq unrar unzip update-alternatives uptime uv uvicorn uvx vagrant valgrind vault vercel vi vim virsh virtualenv
    visudo vite vitest vlc w3m watch watchexec watchman wc webpack wg wget which whoami whois wireshark wp xclip
    xdg-open xmllint xsel xxd xz yadm yarn yay youtube-dl yq yt-dlp yum z zcat zellij zfs zgrep zip zola zoxide zpool
    zsh zstd zypper
""")

# Programs that need a subcommand. Another English word after the name suggests prose.
_PARTS = """
    git: add am amend annotate apply archive bisect blame br branch bundle cat-file checkout cherry cherry-pick ci
        clean clone co commit config count-objects credential describe df diff difftool fetch filter-branch flow
        format-patch fsck gc grep gui help init instaweb lfs lg log ls-files ls-remote ls-tree maintenance merge
        mergetool mv notes prune pull push range-diff rebase reflog remote repack replace request-pull rerere reset
        restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout st stash status
        submodule svn switch symbolic-ref tag unstage update-index version whatchanged worktree
    docker podman docker-compose: attach build builder buildx commit compose config container context cp create diff
        down events exec export history image images import info inspect kill load login logout logs machine manifest
        network node pause plugin pod port ps pull push rename restart rm rmi run save scan search secret service
        stack start stats stop swarm system tag top trust unpause up update version volume wait
    npm pnpm yarn bun: access add audit bin bugs build cache ci completion config create dedupe deprecate dev diff dlx
        docs doctor exec explain fund get global help hook i init install install-test it link lint list login logout
        ls outdated owner pack ping pkg preview prune publish query rebuild remove repo restart root run run-script
        search serve set-script show start stop t test tst un uninstall unlink up update upgrade version view watch
        whoami why workspace workspaces x
    kubectl oc k: annotate api-resources api-versions apply attach auth autoscale certificate cluster-info completion
        config cordon cp create debug delete describe diff drain edit events exec explain expose get kustomize label
        logs options patch plugin port-forward proxy replace rollout run scale set taint top uncordon version wait
    apt apt-get apt-cache aptitude dnf yum zypper apk brew snap flatpak pip pip3 conda mamba gem choco uv poetry pipx:
        activate add autoclean autoremove build build-dep cache cask changelog check clean cleanup config connect
        create deactivate debug deps disable dist-upgrade doctor download edit-sources enable env export find freeze
        full-upgrade group hash help history index info init inspect install leaves link list lock ls madison mark new
        outdated pin policy provides publish pull purge python refresh reinstall remote-add remove repo repolist
        repoquery repos restart revert rm run search self services shell show showpkg source start stop switch sync
        tap tool tree uninstall unlink unpin untap update upgrade uses venv version versions wheel which
    systemctl: cancel cat clean daemon-reexec daemon-reload disable edit enable get-default halt hibernate is-active
        is-enabled is-failed isolate kill list-dependencies list-jobs list-sockets list-timers list-unit-files
        list-units mask poweroff preset reboot reenable reload rescue reset-failed restart revert set-default
        set-property show start status stop suspend try-restart unmask
    cargo go rustup dotnet gradle mvn flutter dart deno mix swift zig: add analyze bench bug build check clean clippy
        compile component create default deploy deps devices doc doctor env fetch fix fmt format generate get help
        info init install lint list locate-project login metadata mod new nextest override owner package pub publish
        release remove restore rm run search self show site target task tasks test tidy tool toolchain tree uninstall
        update upgrade vendor verify version vet watch which work yank
    terraform terragrunt tofu helm pulumi vagrant minikube kind vault heroku fly flyctl doctl gcloud az aws: account
        acr aks alias api apply apps auth beta box browse cache cancel cloudformation codespace completion components
        compute config configure console container create dashboard delete dependency deploy destroy diff docker-env
        down ec2 ecs eks env fmt force-unlock functions get gist gpg-key graph group halt history iam import init
        install ip issue lambda lint list login logout logs ls machine monitor new output package plan plugin pr
        preview profile projects providers provision ps pull push rds read refresh release reload repo restart resume
        rollback run s3 scale search secret secrets service services set show sql ssh stack start state status stop
        storage sts suspend taint template test token tunnel uninstall unseal untaint up update upgrade validate
        version vm volume webapp workflow workspace write
    virsh nmcli ip timedatectl hostnamectl loginctl redis-cli rclone restic ollama supervisorctl nix: a addr address
        attach attach-session backup build c check config connection console copy create d dbsize del destroy detach
        dev develop device domifaddr down dumpxml edit find flake flushall forget general get help info init
        join-session keys kill-server kill-session l link list list-keys list-sessions list-timezones ls lsd lsf maddr
        monitor mount move n ncdu neigh neighbour net netns networking new new-session ping profile prune ps pull r
        radio reload rename reread restart restore rm route rule run s search select serve session-status set
        set-hostname set-ntp set-timezone shell show shutdown signal size snapshots source-file start status stop
        store switch sync tail tunnel undefine up update
    gh glab: alias api auth browse cache codespace completion config extension gist gpg-key issue label mr org pr
        project release repo ruleset run search secret ssh-key status variable workflow
    ufw firewall-cmd: allow app default delete deny disable enable limit logging reject reload reset show status
    tmux: a at attach attach-session detach display-message has-session info kill-pane kill-server kill-session
        kill-window list-keys list-sessions list-windows ls new new-session new-window rename-session rename-window
        send-keys set show-options source source-file split-window start-server switch-client
    jupyter django-admin rails flask airflow dvc dbt: add build c compile console dags db g generate init kernelspec
        lab list migrate nbconvert new notebook pull push repro routes run runner s scheduler seed server shell
        startapp startproject tasks test trust webserver
"""
SUBCOMMANDS = {
    name: word_set(parts)
    for names, _, parts in (group.partition(":") for group in _PARTS.replace("\n        ", " ").splitlines())
    for name in names.split()
}
# All subcommands of these are in the table, so another word after the name is no subcommand.
COMPLETE = word_set("git docker podman kubectl systemctl npm pnpm yarn apt apt-get pip pip3 brew cargo go")
# Kinds of operands: programs; any names; numbers and jobs; files; paths, one of which may not exist yet.
OF_PROGRAMS = word_set("which type man whereis whatis tldr where info command hash apropos watch strace ltrace gdb")
OF_PAGES = word_set("man info tldr whatis whereis apropos")
OF_NAMES = word_set("touch look host finger which last type read unset export")
OF_NUMBERS = word_set(
    "init kill sleep fg bg wait exit seq factor history head tail shift cal last umask disown jobs return"
)
ONLY_NUMBERS = word_set("exit sleep fg bg wait kill shift umask return seq factor history jobs disown")
OF_FILES = word_set("""
    . bat cat cd chmod cmp code column comm compare convert cp cut diff dir display du eject emacs expand file fold
    grep gzip head identify install join less link look ls md5sum micro more mount mv nano nl nvim od open paste patch
    play rev rm shred sort source split stat strip sum tac tail tar tee tree truncate umount uniq unzip vi view vim wc
    xxd zip
""")
OF_PATHS = word_set("cp mv ln diff cmp comm chown chgrp vimdiff meld")
# These take only flags or a script, so one English word after them may be a topic.
WITHOUT_WORDS = word_set("""
    nginx uptime w free top htop whoami pwd users date env set history clear reset jobs df hostname logout times
    reboot halt poweroff dmesg lsblk lscpu redis-server postgres nvidia-smi who last shutdown exit true false
    python python2 python3 node ruby perl bash sh zsh php lua java deno julia Rscript
""")
# Patterns that the operands must match.
FORMS = {
    "at": r"^(now|noon|midnight|teatime|\d{1,2}(:\d\d)?([ap]m)?|\d{4})( |$)",
    "expr": r"(^| )([=<>+*/%:-]|!=)( |$)",
    "last": r"^reboot$",
    "let": r"^(['\"]|\w+([-+*/%]?=|\+\+|--))",
    "service": r" (start|stop|restart|reload|status|force-reload)$",
    "shutdown": r"^(now|\+\d+|\d\d:\d\d)$",
    "test": r"(^| )(!?=|==|-[a-z]{1,2})( |$)",
    "who": r"^am i$",
}
BUILDERS = word_set("make gmake just ninja rake task")
# Conventional makefile targets. Without a makefile the command fails without harm.
USUAL_TARGETS = word_set("""
    all install clean test tests check build run help dist distclean docs doc lint format fmt coverage deploy release
    uninstall dev serve bench deps setup html menuconfig defconfig modules
    modules_install mrproper veryclean publish dev-install typecheck
""")
# Subcommands that take a list of names, and the kinds of objects that subcommands act on.
LISTING = word_set("install add remove uninstall start stop rm rmi restart i pull purge")
GIT_GROUPS = word_set("stash remote bisect worktree submodule notes reflog lfs config maintenance mv rm add")
RESOURCES = word_set("""
    deployment deployments service services pod pods node nodes secret secrets namespace namespaces configmap ingress
    job jobs container image volume network create delete list status undo history system origin
""")


def is_meant(candidate: str, typed: str, rest: Sequence[str], clues: Clues) -> bool:
    """Is this a common kind of typo, or does the rest of the line confirm the candidate?"""
    if clues.hard or (rest and rest[0] in SUBCOMMANDS.get(candidate, ())):
        return True
    if candidate in PREFIXES and rest and rest[0] in SUBCOMMANDS:
        return True
    doubled = len(candidate) < len(typed) and set(candidate) == set(typed)
    if doubled or sorted(candidate) == sorted(typed):
        return True
    common = candidate in WELL_KNOWN or candidate in BARE or candidate in SPEAKERS
    taken = candidate in SUBCOMMANDS and bool(rest)  # it would have another word
    return len(typed) > 3 and clues.total < 2 and not taken and (common or (bool(rest) and not is_everyday(candidate)))


def is_chosen(name: str) -> bool:
    """Did the user install this program, and is nothing known here about its operands? Then they may be any words."""
    return name not in STANDARD_WORDS and name not in STRICT and name not in COMPLETE and name not in OF_FILES
