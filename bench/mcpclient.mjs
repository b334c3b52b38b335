// node mcpclient.mjs PLACE URL TOKEN COMMAND… : ask the server in both transports, and print what came as JSON.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [place, url, token, program, ...args] = process.argv.slice(2);
const require = createRequire(path.join(place, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

async function asked(transport) {
  const begun = performance.now();
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  const ready = performance.now() - begun;
  const { tools } = await client.listTools(); // from here on the client holds answers to the schemas of the tools
  const write = { kind: "decision", title: "Orders are kept in PostgreSQL", decision: "In PostgreSQL 16.",
    why: "They need transactions over several tables.", alternatives: "MySQL.", impact: ["src/orders.py"],
    verification: "make test", rollback: "Restore the dump.", reusable: true };
  const call = (name, input) => client.callTool({ name, arguments: input });
  const found = {
    ready,
    tools: tools.map((tool) => [tool.name, tool.annotations.readOnlyHint]),
    written: (await call("write", { candidates: [write] })).structuredContent,
    search: (await call("search", { query: "postgresql" })).structuredContent,
    show: (await call("show", { id: "D001" })).structuredContent,
    context: (await call("context", { query: "orders in PostgreSQL" })).structuredContent,
    pack: (await call("pack", { question: "orders in PostgreSQL" })).structuredContent,
    check: (await call("check", {})).structuredContent,
    mistake: await call("show", { id: 7 }),
    resource: (await client.readResource({ uri: "kb://records/D001" })).contents[0].text,
    templates: (await client.listResourceTemplates()).resourceTemplates.length,
    prompt: (await client.getPrompt({ name: "shi_t2", arguments: { keywords: "orders" } })).messages[0].content.text,
    completed: (await client.complete({ ref: { type: "ref/resource", uri: "kb://records/{id}" },
      argument: { name: "id", value: "d" } })).completion.values,
  };
  const times = [];
  for (let n = 0; n < 20; n++) {
    const start = performance.now();
    await call("search", { query: "postgresql" });
    times.push(performance.now() - start);
  }
  await client.close();
  return { ...found, search_ms: times.sort((a, b) => a - b)[10] };
}

const http = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const stdio = new StdioClientTransport({ command: program, args, cwd: process.cwd() });
process.stdout.write(JSON.stringify({ stdio: await asked(stdio), http: await asked(http) }));
