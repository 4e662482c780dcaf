"""Names for secrets that a person knows: "OpenAI key", "AWS secret key", "password".

Pure: takes what was found and the words before it, returns a name for messages and masks.
"""

import re

# How the tokens of an issuer begin; the first match counts.
_BEGINNINGS = (
    ("sk-ant-", "Anthropic key"),
    ("sk-or-", "OpenRouter key"),
    ("sk-", "OpenAI key"),
    ("gsk", "Groq key"),
    ("hf", "Hugging Face token"),
    ("r8", "Replicate token"),
    ("pplx", "Perplexity key"),
    ("xai", "xAI key"),
    ("fw", "Fireworks key"),
    ("tvly-", "Tavily key"),
    ("nvapi-", "NVIDIA key"),
    ("lsv2_", "LangSmith key"),
    ("jina_", "Jina key"),
    ("whsec_", "Stripe webhook secret"),
    ("key-", "Mailgun key"),
    ("xkeysib-", "Brevo key"),
    ("re_", "Resend key"),
    ("pypi-", "PyPI token"),
    ("npm_", "npm token"),
    ("rubygems_", "RubyGems token"),
    ("cio", "crates.io token"),
    ("NuGet", "NuGet token"),
    ("oy2", "NuGet token"),
    ("do", "DigitalOcean token"),
    ("dapi", "Databricks token"),
    ("tskey-", "Tailscale key"),
    ("HRKU-", "Heroku token"),
    ("fo1_", "Fly.io token"),
    ("LTAI", "Alibaba Cloud key"),
    ("vercel_", "Vercel token"),
    ("rnd_", "Render token"),
    ("ops_", "1Password token"),
    ("shp", "Shopify token"),
    ("sq0", "Square token"),
    ("EAAA", "Square token"),
    ("hv", "Vault token"),
    ("dp.", "Doppler token"),
    ("pul-", "Pulumi token"),
    ("gl", "Grafana token"),
    ("lin_", "Linear token"),
    ("ntn_", "Notion token"),
    ("PMAK-", "Postman key"),
    ("AT", "Atlassian token"),
    ("figd_", "Figma token"),
    ("sntr", "Sentry token"),
    ("NRAK-", "New Relic key"),
    ("sbp_", "Supabase token"),
    ("pscale_", "PlanetScale token"),
    ("CFPAT-", "Contentful token"),
    ("bk", "Buildkite token"),
    ("nfp_", "Netlify token"),
    ("phx_", "PostHog key"),
)
_GENERAL = frozenset(("model key", "mail service key", "package registry token", "cloud token", "shop token"))
ISSUERS = {
    **{
        word: word.capitalize()
        for word in "anthropic azure cloudflare datadog discord docker gitea google heroku".split()
    },
    **{
        word: word.capitalize() for word in "jenkins mistral netlify notion sentry slack stripe telegram twilio".split()
    },
    **{word: word.capitalize() for word in "vault vercel".split()},
    "aws": "AWS",
    "github": "GitHub",
    "gh": "GitHub",
    "gitlab": "GitLab",
    "openai": "OpenAI",
    "npm": "npm",
    "pypi": "PyPI",
    "gcp": "Google",
    "gemini": "Google",
    "hf": "Hugging Face",
    "huggingface": "Hugging Face",
    "sendgrid": "SendGrid",
    "digitalocean": "DigitalOcean",
    "openrouter": "OpenRouter",
    "groq": "Groq",
}


def token_name(kind: str, value: str) -> str:
    """Return the name of a token, by its beginning if several issuers share a rule."""
    if kind not in _GENERAL and kind not in ("service token", "Vault token", "Stripe key"):
        return kind
    return next((name for start, name in _BEGINNINGS if value.startswith(start)), kind)


def value_name(identifier: str, name: str, *, password: bool) -> str:
    """Return the name of a value, by the lower-case word before it, such as `aws_secret_access_key`."""
    if password:
        return "password"
    parts = re.split(r"[^a-z0-9]+", identifier)
    issuer = next((f"{ISSUERS[part]} " for part in parts if part in ISSUERS), "")
    if "cred" in name:
        return f"{issuer}credentials"
    if "token" in name or "токен" in name or name == "pat":
        return f"{issuer}token"
    if "secret" in name:
        return f"{issuer}secret key" if "key" in name else f"{issuer}secret"
    if "private" in identifier:
        return "private key"
    return f"{issuer}key" if issuer else "API key" if "api" in identifier else "key"
