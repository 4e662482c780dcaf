"""The adapters of services with an API of their own: each is loaded when a model of it is used first."""

from aish.model.streamed_api import StreamedApi


def load_adapter(kind: str) -> type[StreamedApi]:
    """Return the adapter for the kind of a preset."""
    match kind:
        case "anthropic":
            from aish.model.anthropic_messages import AnthropicMessages

            return AnthropicMessages
        case "google":
            from aish.model.gemini import Gemini

            return Gemini
    from aish.model.openai_responses import OpenAIResponses

    return OpenAIResponses
