// Plays opencode for a plugin: reads steps as JSON from stdin, calls the plugin's hooks, prints what became of them.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const { plugin, directory, messages, steps } = JSON.parse(readFileSync(0, "utf8"))
const { KbPlugin } = await import(pathToFileURL(plugin))
const shown = []
const client = {
  session: { messages: async () => ({ data: messages }) },
  tui: { showToast: async ({ body }) => shown.push(body.message) },
}
const hooks = await KbPlugin({ client, directory })
let skipped = 0
const now = Date.now
Date.now = () => now() + skipped
const results = []
for (const { hook, input = {}, output = {}, wait = 0 } of steps) {
  skipped += wait
  const before = output.args
  let thrown = ""
  try {
    await hooks[hook](input, output)
  } catch (error) {
    thrown = error.message
  }
  results.push({ output, thrown, same: output.args === before })
}
console.log(JSON.stringify({ results, shown }))
