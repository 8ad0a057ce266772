"""tiny-agents of Hugging Face, for Node.js."""
