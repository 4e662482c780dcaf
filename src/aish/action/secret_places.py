"""The places where programs keep credentials and what people typed. The policy asks for them, a sandbox hides them."""

# Files and directories below a home directory. Directories that projects have too (.docker, .claude) are not listed
# whole, only the files in them that hold credentials.
HOME_SECRETS: tuple[str, ...] = (
    # keys and password stores
    *""".ssh .gnupg .password-store .local/share/password-store .pki .putty .age .config/age .config/sops
    .sops .minisign .signify .step .local/share/gopass .config/gopass .local/share/keyrings .gnome2/keyrings
    .local/share/gnome-keyring .local/share/kwalletd .kde/share/apps/kwallet .kde4/share/apps/kwallet
    .config/keepassxc .cache/keepassxc .keepass .config/KeePass .config/op .op .1password .config/1Password
    .config/Bitwarden .bitwarden .config/rbw .local/share/rbw .cache/rbw .lpass .config/lpass
    .local/share/lpass .config/Enpass .config/Yubico .yubico .vault-token .config/hcp .tsh .config/teleport
    .google_authenticator .2fa .authinfo .netrc _netrc .dbus-keyrings .config/goa-1.0/accounts.conf .cert
    .config/libaccounts-glib .krb5 .fscrypt .secrets .credentials""".split(),
    # clouds and services
    *""".aws .azure .config/gcloud .config/doctl .config/linode-cli .linode-cli .config/hcloud .config/scw
    .oci .bluemix .aliyun .tccli .ovh.conf .config/openstack .config/exoscale .vultr-cli.yaml
    .config/vultr-cli.yaml .config/upctl.yaml .civo.json .fly .config/heroku .local/share/heroku
    .config/netlify .netlify/config.json .local/share/com.vercel.cli .config/com.vercel.cli
    .config/.wrangler .wrangler/config .supabase .config/supabase .config/stripe .twilio-cli .config/@twilio
    .sentryclirc .config/sentry .config/configstore .config/firebase .railway .render/cli.yaml .config/gh
    .config/hub .config/glab-cli .config/tea .config/github-copilot .config/lab .python-gitlab.cfg
    .config/ngrok .ngrok2 .cloudflared .databrickscfg .databricks/token-cache.json .snowsql .snowflake
    .config/snowflake .config/planetscale .config/turso .config/neonctl .doppler .config/doppler .infisical
    .config/infisical .pulumi/credentials.json .terraform.d .terraformrc .chef .puppetlabs .vault_pass
    .vault_pass.txt .ansible_vault_pass .ansible/galaxy_token .newrelic .config/newrelic .jira.d
    .config/.jira .config/jira .config/acli .travis .circleci/cli.yml .config/circleci
    .config/buildkite.yaml .bk.yaml .config/act .arcrc .clasprc.json .config/gspread .gdfuse .config/pulumi
    .shodan .config/shodan .config/censys .msf4 .config/hashcat .near-credentials .config/solana
    .wakatime.cfg .gist .mailrc .curlrc .wgetrc .cvspass .rhosts .lftp .ncftp .filezilla .config/filezilla
    .config/joplin .config/joplin-desktop .config/zoomus.conf .vscode-server/data/User/globalStorage
    .config/ssh .dotnet/corefx/cryptography .aspnet/DataProtection-Keys .microsoft/usersecrets .edgerc
    .cloudflare .heroku .local/share/containers/storage/secrets .config/libvirt/secrets""".split(),
    # models and assistants
    *""".claude.json .claude/.credentials.json .claude/history.jsonl .claude/projects .config/claude
    .config/Claude .codex .gemini/oauth_creds.json .gemini/google_accounts.json
    .gemini/mcp-oauth-tokens.json .gemini/.env .gemini/tmp .openai .config/openai .anthropic
    .config/anthropic .aider.conf.yml .aider.input.history .continue/config.yaml .continue/config.json
    .continue/sessions .cursor/mcp.json .config/Cursor .codeium .config/codeium .copilot .config/copilot
    .config/goose .local/share/goose .config/opencode .local/share/opencode .config/crush .local/share/crush
    .qwen/oauth_creds.json .config/io.datasette.llm .config/shell_gpt .config/aichat .config/mods
    .config/fabric .config/amp .local/share/amp .mcp-auth .kaggle .config/kaggle .config/wandb .huggingface
    .cache/huggingface/token .cache/huggingface/stored_tokens .comet.config .neptune .clearml.conf
    clearml.conf .modal.toml .runpod .vast_api_key .config/vastai .lambda_cloud .replicate
    .ollama/id_ed25519 .config/litellm .local/share/aichat .config/gptme .local/share/gptme .config/sgpt
    .cody .config/tabnine .tabnine""".split(),
    # packages
    *""".npmrc .yarnrc.yml .pypirc .config/pip/pip.conf .pip/pip.conf .config/pip
    .config/uv/credentials.toml .local/share/uv/credentials .config/pypoetry .config/hatch
    .cargo/credentials .cargo/credentials.toml .gem/credentials .local/share/gem/credentials .bundle/config
    .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config .config/NuGet/NuGet.Config
    .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .ivy2/.credentials
    .sbt/.credentials .config/coursier/credentials.properties .hex/hex.config .config/hex .cabal/config
    .stack/upload/credentials.json .pause .luarocks/upload_config.lua .conan2/credentials.json
    .conan/.conan.db .jfrog .config/dart/pub-credentials.json .pub-cache/credentials.json .vsce .ovsx
    .expo/state.json .bunfig.toml .fastlane .android/debug.keystore .android/adbkey .appstoreconnect
    .nimble/github_api_token""".split(),
    # containers and clusters
    *""".docker/config.json .docker/machine .docker/contexts .dockercfg .config/containers/auth.json .kube
    .k3d .minikube/profiles .minikube/machines .rancher .config/helm/registry .config/helm/repositories.yaml
    .config/argocd .argocd .talos .config/k9s/clusters .config/lens .vagrant.d/insecure_private_key""".split(),
    # storage, backups and mail
    *""".config/rclone .rclone.conf .config/restic .restic .config/borg .config/borgmatic .s3cfg .mc .mcli
    .boto .gsutil .passwd-s3fs .duplicity .config/kopia .dropbox .config/syncthing .local/state/syncthing
    .config/Nextcloud .megaCmd .b2_account_info .config/b2 .smbcredentials .davfs2 .msmtprc .config/msmtp
    .fetchmailrc .getmail .config/getmail .mutt .muttrc .config/mutt .config/neomutt .neomuttrc .mbsyncrc
    .config/isyncrc .offlineimaprc .config/aerc .config/himalaya .thunderbird .config/evolution
    .local/share/evolution .claws-mail .purple .config/Signal .config/Slack .config/discord .config/Element
    .local/share/TelegramDesktop .weechat .config/weechat .irssi .config/hexchat .config/keybase
    .local/share/keybase .config/teams .config/kdeconnect .config/rustic""".split(),
    # browsers and remote desktops
    *""".mozilla .config/mozilla .librewolf .waterfox .config/google-chrome .config/google-chrome-beta
    .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera
    .config/falkon .local/share/qutebrowser .cache/mozilla .cache/google-chrome .cache/chromium
    .cache/BraveSoftware snap/firefox snap/chromium snap/thunderbird .var/app .tor-browser
    .local/share/torbrowser .w3m .lynx_cookies .elinks .wireguard .openvpn .config/openvpn .vpn
    .config/tailscale .local/share/tailscale .config/remmina .local/share/remmina .vnc .config/tigervnc
    .x2goclient .Xauthority .ICEauthority .config/pulse/cookie .config/rustdesk .config/anydesk .anydesk""".split(),
    # version control, databases and wallets
    *""".git-credentials .config/git/credentials .cache/git/credential .gitcookies .subversion/auth
    .p4tickets .bazaar/authentication.conf .config/breezy/authentication.conf .pgpass .pg_service.conf
    .my.cnf .mylogin.cnf .mongodb .mongorc.js .dbshell .config/pgcli .config/mycli .local/share/DBeaverData
    .dbeaver .config/beekeeper-studio .config/Postman .config/Insomnia .odbc.ini .influxdbv2
    .clickhouse-client .cassandra .cqlshrc .bitcoin .litecoin .ethereum .electrum .bitmonero
    .foundry/keystores .brownie/accounts .env .envrc .pam_environment .config/environment.d
    .homeassistant/secrets.yaml""".split(),
    # histories: commands that people typed, with the passwords in them
    *""".bash_history .zsh_history .zhistory .histfile .sh_history .ksh_history .mksh_history .history
    .tcsh_history .local/share/fish .config/fish/fish_history .local/share/atuin .local/share/mcfly
    .local/share/hishtory .hishtory .local/share/nushell .config/nushell/history.txt
    .config/nushell/history.sqlite3 .local/share/powershell .python_history .local/state/python_history
    .ipython/profile_default/history.sqlite .psql_history .mysql_history .mariadb_history .sqlite_history
    .duckdb_history .rediscli_history .node_repl_history .irb_history .local/share/irb .pry_history
    .local/share/pry .php_history .psysh_history .config/psysh .julia/logs .Rhistory .scala_history
    .ghci_history .ghc/ghci_history .lua_history .gdb_history .lesshst .local/state/less
    .local/state/lesshst .viminfo .local/share/nvim/shada .local/state/nvim/shada
    .local/share/jupyter/runtime .jupyter .erlang.cookie .local/state/bash .local/state/zsh .local/share/zsh
    .local/share/bash .cache/zsh""".split(),
    # macOS
    "Library/Keychains",
    "Library/Cookies",
    "Library/Safari",
    "Library/Messages",
    "Library/Mail",
    "Library/Accounts",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Code/User/globalStorage",
    "Library/Application Support/com.vercel.cli",
    "Library/Application Support/pip",
    "Library/Application Support/pypoetry",
    "Library/Application Support/sops",
    "Library/Application Support/Claude",
    "Library/Application Support/Bitwarden",
    "Library/Application Support/1Password",
    "Library/Application Support/Slack",
    "Library/Preferences/netlify",
    "Library/Group Containers",
    ".config/Bitwarden CLI",
    ".config/Code/User/globalStorage",
)
# Absolute paths; a `*` stands for a part of one name.
SYSTEM_SECRETS: tuple[str, ...] = tuple(
    """/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/security/opasswd
    /etc/ssh/ssh_host_*_key /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt/archive
    /etc/letsencrypt/live /etc/letsencrypt/accounts /etc/letsencrypt/keys
    /etc/NetworkManager/system-connections /run/NetworkManager/system-connections /etc/netplan
    /etc/wpa_supplicant /etc/wpa_supplicant.conf /etc/iwd /var/lib/iwd /etc/wireguard /etc/openvpn
    /etc/ipsec.secrets /etc/ipsec.d/private /etc/swanctl/private /etc/ppp /etc/krb5.keytab /etc/rancher
    /etc/kubernetes /var/lib/kubelet /var/lib/rancher /var/lib/k0s /etc/docker/key.json /run/secrets
    /run/secrets.d /run/credentials /run/agenix /run/agenix.d /run/keys /run/containers /etc/credstore
    /etc/credstore.encrypted /var/lib/systemd/credential.secret /run/user/*/gnupg /run/user/*/keyring
    /run/user/*/containers /run/user/*/gcr /run/user/*/secrets /run/user/*/ssh-agent.socket
    /etc/mysql/debian.cnf /etc/exim4/passwd.client /etc/postfix/sasl_passwd /etc/postfix/sasl
    /etc/dovecot/private /etc/pve/priv /boot/grub/user.cfg /var/lib/NetworkManager/secret_key
    /var/lib/bluetooth /var/lib/tailscale /var/lib/sss/secrets /var/lib/private /var/lib/samba/private
    /etc/samba/smbcredentials /etc/vault.d /etc/consul.d /etc/nomad.d /etc/gitlab/gitlab-secrets.json
    /etc/gitlab-runner /etc/ddclient.conf /etc/msmtprc /etc/ssmtp /etc/apt/auth.conf /etc/apt/auth.conf.d
    /etc/luks /etc/luks-keys /etc/cryptsetup-keys.d /etc/tinc /var/lib/zerotier-one /etc/cloudflared
    /etc/rclone.conf /etc/restic /etc/borgmatic /var/lib/jenkins/secrets /var/lib/cloud/instance
    /var/lib/cloud/instances /run/cloud-init/instance-data-sensitive.json /var/lib/waagent /etc/pip.conf
    /etc/boto.cfg /etc/davfs2/secrets /etc/fetchmailrc /etc/snmp/snmpd.conf /etc/ceph /var/lib/mysql
    /var/lib/postgresql /var/mail /var/spool/mail /dev/mem /dev/kmem /dev/port /etc/pgbouncer/userlist.txt
    /var/lib/docker /var/lib/containers /var/backups/shadow.bak /var/backups/gshadow.bak /proc/kcore""".split()
)
