% en: connect an agent over MCP

$ kb mcp install claude --dry-run --project
--- /dev/null
+++ <dir>/.mcp.json
@@ -0,0 +1,11 @@
+{
+  "mcpServers": {
+    "kb": {
+      "type": "stdio",
+      "command": "kb",
+      "args": [
+        "mcp"
+      ]
+    }
+  }
+}

$ kb mcp install claude --project
2> server written to <dir>/.mcp.json; the client starts it when it next starts

$ kb mcp install claude --project
2> the server is already in <dir>/.mcp.json

$ kb mcp uninstall claude --project
2> server removed from <dir>/.mcp.json

$ kb mcp uninstall claude --project
2> <dir>/.mcp.json has no kb server

$ kb mcp install codex --project
2> server written to <dir>/.codex/config.toml; the client starts it when it next starts

$ cat .codex/config.toml
[mcp_servers.kb]
command = "kb"
args = ["mcp"]

% what it will not do
$ kb mcp install emacs
2> kb: there is no client emacs
2>     → known: claude, codex, gemini, copilot, cursor, opencode
? 1

$ kb mcp install claude --user --project
2> kb: give --user or --project, not both
2>     → see: kb mcp install --help
? 2

$ kb mcp --address 127.0.0.1:80
2> kb: --address, --remote, --name and --new-token go with --http
2>     → see: kb mcp --help
? 2

$ kb mcp --http --address 0.0.0.0:80
2> kb: other machines can reach 0.0.0.0; anyone with the token can read and write
2>     → use 127.0.0.1:8735, or confirm with --remote
? 1

$ kb mcp --http --address 0.0.0.0:80 --remote
2> kb: 0.0.0.0 is not a name that a client calls
2>     → say which name they use: --name kb.example.com
? 1

$ kb mcp --http --address 80
2> kb: 80 is not an address
2>     → for example: 127.0.0.1:8735
? 1
