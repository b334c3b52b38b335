% zh: 通过 MCP 接入智能体

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
2> 服务器已写入 <dir>/.mcp.json；客户端下次启动时生效

$ kb mcp install claude --project
2> <dir>/.mcp.json 中已有该服务器

$ kb mcp uninstall claude --project
2> 服务器已从 <dir>/.mcp.json 移除

$ kb mcp uninstall claude --project
2> <dir>/.mcp.json 中没有 kb 的服务器

$ kb mcp install codex --project
2> 服务器已写入 <dir>/.codex/config.toml；客户端下次启动时生效

$ cat .codex/config.toml
[mcp_servers.kb]
command = "kb"
args = ["mcp"]

% 不做的事
$ kb mcp install emacs
2> kb: 没有客户端 emacs
2>     → 已知：claude、codex、gemini、copilot、cursor、opencode
? 1

$ kb mcp install claude --user --project
2> kb: --user 与 --project 只能给一个
2>     → 见：kb mcp install --help
? 2

$ kb mcp --address 127.0.0.1:80
2> kb: --address、--remote、--name 和 --new-token 须与 --http 一起用
2>     → 见：kb mcp --help
? 2

$ kb mcp --http --address 0.0.0.0:80
2> kb: 其他机器能访问 0.0.0.0，持有令牌的人都能在那里读写
2>     → 请用 127.0.0.1:8735；确需如此请加 --remote
? 1

$ kb mcp --http --address 0.0.0.0:80 --remote
2> kb: 0.0.0.0 不是客户端能调用的名称
2>     → 请指明客户端使用的名称：--name kb.example.com
? 1

$ kb mcp --http --address 80
2> kb: 80 不是地址
2>     → 形如：127.0.0.1:8735
? 1
