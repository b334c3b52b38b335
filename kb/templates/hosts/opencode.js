// kb's plugin for opencode. `kb hooks install opencode` writes it, and writes it anew: changes in it are lost.
import { spawn } from "node:child_process"
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

const PROGRAM = "kb-hook"
const OPTIONS = []
const SECONDS = {}
// The events kb is asked at, each with the seconds it may take.

const STATE = join(process.env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "kb", "opencode")
const KEPT = 30 * 86_400_000
const AMENDED = 60_000
const LARGE = 100_000
const LONG = 4_000
const PRINTED = 30_000

// Ask kb. Whatever goes wrong, the answer is empty and the agent goes on.
function ask(event, word, payload) {
  return new Promise((resolve) => {
    let child
    let text = ""
    const finish = (answer) => {
      clearTimeout(timer)
      resolve(answer && typeof answer === "object" ? answer : {})
    }
    const timer = setTimeout(() => {
      child?.kill("SIGKILL")
      finish({})
    }, SECONDS[event] * 1000)
    try {
      child = spawn(PROGRAM, [word, "--host", "opencode", ...OPTIONS], { stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => finish({}))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8").on("data", (part) => (text += part))
      child.on("close", () => {
        try {
          finish(JSON.parse(text))
        } catch {
          finish({})
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      finish({})
    }
  })
}

// Forget the copies of sessions that nobody has touched for 30 days.
async function clear() {
  for (const name of await readdir(STATE).catch(() => [])) {
    const about = await stat(join(STATE, name)).catch(() => null)
    if (about && Date.now() - about.mtimeMs > KEPT) await rm(join(STATE, name), { force: true }).catch(() => {})
  }
}

const words = (parts) =>
  (parts ?? [])
    .filter((part) => part?.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")

export const KbPlugin = async ({ client, directory }) => {
  const begun = new Map() // session -> the answer to its start, or the promise of it
  const notes = new Map() // call of a tool -> what the model is told behind its result
  const ways = new Map() // session -> { agent, model, variant } of its last prompt
  const parents = new Map() // session of a sub-agent -> the session it works for
  const asked = new Set() // what people asked in this process, word for word
  const pruning = new Set() // sessions whose messages are being pruned
  let last = ""
  let amended = { time: -Infinity, text: "" }
  clear()

  const show = ({ message }) => {
    if (message) client?.tui?.showToast?.({ body: { message, variant: "info" } })?.catch?.(() => {})
  }
  const send = (event, word, session, more) =>
    event in SECONDS ? ask(event, word, { session_id: session, cwd: directory, ...more }) : Promise.resolve({})

  // What the person is to answer or may want to undo stays in the conversation; the model does not read it.
  async function leave(session, { message }) {
    if (!message) return
    const parts = [{ type: "text", text: message, ignored: true }]
    try {
      await client.session.prompt({ path: { id: session }, body: { noReply: true, ...ways.get(session), parts } })
    } catch {
      // the toast has shown it
    }
  }

  // Ask for what a session is told in its system prompt. It stays the same text, so that the model's cache of the
  // conversation holds; only a compaction, which rewrites the conversation itself, renews it.
  function begin(session, source) {
    const asked = send("session.created", "session-start", session, { source })
    begun.set(session, asked)
    asked.then(show)
    return asked
  }

  // Wait for a session's start; one that this process has not seen begin was resumed, or is a sub-agent's.
  async function started(session) {
    if (!begun.has(session) && !parents.has(session)) {
      const parent = await client?.session?.get?.({ path: { id: session } })?.then(({ data }) => data?.parentID, () => "")
      if (parent) parents.set(session, parent)
      else if (!begun.has(session)) begin(session, "resume")
    }
    return begun.get(session)
  }

  // Keep a session's messages where kb can read them; the path, or "" where that cannot be.
  async function copied(session) {
    const path = join(STATE, `${String(session).replace(/[^\w-]/g, "_")}.json`)
    try {
      const { data } = await client.session.messages({ path: { id: session } })
      await mkdir(STATE, { recursive: true, mode: 0o700 })
      await writeFile(`${path}.${process.pid}`, JSON.stringify({ messages: data }), { mode: 0o600 })
      await rename(`${path}.${process.pid}`, path)
    } catch {
      return (await stat(path).catch(() => null)) ? path : ""
    }
    return path
  }

  // Whether an orchestrator asks kb by itself, because its prompt was amended; looked up once in 60 seconds.
  async function asksItself(agent) {
    if (Date.now() - amended.time > AMENDED) {
      const home = process.env.OPENCODE_CONFIG_DIR || join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "opencode")
      const files = [join(directory ?? ".", ".opencode", "oh-my-opencode.json"), join(home, "oh-my-opencode.json")]
      const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")))
      amended = { time: Date.now(), text: texts.join("\n") }
    }
    return amended.text.includes(`<!-- KB:${String(agent).toLowerCase()} -->`)
  }

  async function ended(session) {
    const path = await copied(session)
    const parent = parents.get(session)
    if (!parent) return send("session.idle", "stop", session, { transcript_path: path })
    const more = { agent_id: session, agent_type: "task", agent_transcript_path: path }
    return send("session.idle", "subagent-stop", parent, more)
  }

  return {
    event: async ({ event }) => {
      const about = event?.properties ?? {}
      const session = about.sessionID ?? about.info?.id
      if (!session) return
      if (event.type === "session.created" && about.info?.parentID) parents.set(session, about.info.parentID)
      else if (event.type === "session.created")
        await (begun.get(session) ?? begin(session, "startup"))
      else if (event.type === "session.compacted") await begin(session, "compact")
      else if (event.type === "session.idle") {
        const answer = await ended(session)
        show(answer)
        if (!parents.has(session)) await leave(session, answer)
      } else if (event.type === "session.deleted") {
        await send(event.type, "session-end", session, { transcript_path: await copied(session), reason: "other" })
        begun.delete(session)
        pruning.delete(session)
      }
    },

    "chat.message": async (input, output) => {
      const prompt = words(output?.parts)
      const session = input?.sessionID
      last = session ?? last
      if (prompt.trim()) {
        ways.set(session, { agent: input?.agent, model: input?.model, variant: input?.variant })
        await started(session)
      }
      const question = /^\s*user_question:[ \t]*(.+?)\s*$/m.exec(prompt)
      if (!prompt.trim() || (question && asked.has(question[1])) || (await asksItself(input?.agent))) return
      asked.add(prompt.trim())
      const answer = await send("chat.message", "user-prompt", session, { prompt, transcript_path: await copied(session) })
      show(answer)
      if (answer.deny) throw new Error(answer.deny)
      const end = output.parts.at(-1)
      const hint = { type: "text", text: answer.context, synthetic: true }
      if (answer.context) output.parts.push({ ...hint, id: `${end.id}k`, sessionID: end.sessionID, messageID: end.messageID })
    },

    "tool.execute.before": async (input, output) => {
      const payload = { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID }
      const answer = await send("tool.execute.before", "pre-tool", input.sessionID, payload)
      if (answer.deny) throw new Error(answer.deny)
      if (answer.input) {
        for (const key of Object.keys(output.args)) delete output.args[key]
        Object.assign(output.args, answer.input)
      }
      if (answer.context) notes.set(input.callID, answer.context)
      show(answer)
    },

    "tool.execute.after": async (input, output) => {
      if (["glob", "grep"].includes(input.tool) && output?.output?.length > LONG) {
        const payload = { tool_name: input.tool, tool_input: input.args ?? {}, tool_response: output.output }
        const answer = await send("tool.execute.after", "post-tool", input.sessionID, payload)
        if (typeof answer.output === "string") output.output = `${answer.output}\n\n${answer.context ?? ""}`
      } else if (!["read", "glob", "grep", "list", "edit", "write", "todowrite", "todoread"].includes(input.tool)) {
        const payload = { tool_name: input.tool, tool_input: input.args ?? {} }
        if (output?.metadata?.exit) payload.tool_error = String(output.output ?? "").slice(-PRINTED) || "?"
        const answer = await send("tool.execute.after", "post-tool", input.sessionID, payload)
        if (answer.context && typeof output?.output === "string") output.output = `${output.output}\n\n${answer.context}`
        show(answer)
      }
      const note = notes.get(input.callID)
      notes.delete(input.callID)
      if (note && typeof output?.output === "string") output.output = `${output.output}\n\n${note}`
    },

    "experimental.chat.system.transform": async (input, output) => {
      const start = await begun.get(input?.sessionID ?? last)
      if (start?.context) output.system.push(start.context)
    },

    "experimental.session.compacting": async (input, output) => {
      const path = await copied(input.sessionID)
      const payload = { trigger: "auto", transcript_path: path }
      const answer = await send("experimental.session.compacting", "pre-compact", input.sessionID, payload)
      if (answer.context) output.context.push(answer.context)
    },

    // The messages are copies for one call of the model: what is taken out here is still in the session.
    "experimental.chat.messages.transform": async (_, output) => {
      const session = output.messages?.[0]?.info?.sessionID
      if (!session || JSON.stringify(output.messages).length < LARGE) return
      const payload = { messages: output.messages, pruning: pruning.has(session) }
      const answer = await send("experimental.chat.messages.transform", "messages", session, payload)
      for (const edit of Array.isArray(answer.output) ? answer.output : []) {
        const message = output.messages[edit.message]
        const part = message?.parts?.[edit.part]
        if (!part) continue
        pruning.add(session)
        const parts = [...message.parts]
        if ("text" in edit) parts[edit.part] = { ...part, text: edit.text }
        else {
          const state = { ...part.state }
          if ("input" in edit) state.input = edit.input
          else state[state.status === "error" ? "error" : "output"] = edit.output
          parts[edit.part] = { ...part, state }
        }
        output.messages[edit.message] = { ...message, parts }
      }
    },
  }
}
