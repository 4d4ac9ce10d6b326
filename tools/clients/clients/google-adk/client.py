"""The Agent Development Kit, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "ADK"
    package = "google-adk"
    limits = {"prompt": "A program has no slash commands."}
    model_path = ""

    def variables(self, model: str) -> dict[str, str]:
        return {"GOOGLE_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": model}
