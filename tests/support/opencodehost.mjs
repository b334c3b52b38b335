// Plays opencode for a plugin: reads steps as JSON from stdin, calls the plugin's hooks, prints what became of them.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const { plugin, directory, messages, steps, parents = {} } = JSON.parse(readFileSync(0, "utf8"))
const { KbPlugin } = await import(pathToFileURL(plugin))
const shown = []
const left = []
const client = {
  session: {
    messages: async () => ({ data: messages }),
    get: async ({ path }) => ({ data: { id: path.id, parentID: parents[path.id] } }),
    prompt: async ({ path, body }) => left.push({ session: path.id, ...body }),
  },
  tui: { showToast: async ({ body }) => shown.push(body.message) },
}
const hooks = await KbPlugin({ client, directory })
let skipped = 0
const now = Date.now
Date.now = () => now() + skipped
const results = []
for (const { hook, input = {}, output = {}, wait = 0, background = false } of steps) {
  skipped += wait
  const before = output.args
  let thrown = ""
  try {
    const done = hooks[hook](input, output)
    if (!background) await done
  } catch (error) {
    thrown = error.message
  }
  results.push({ output, thrown, same: output.args === before })
}
console.log(JSON.stringify({ results, shown, left }))
