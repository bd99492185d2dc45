import { extname } from 'node:path'
import { inspect } from 'node:util'
import { Worker as Thread } from 'node:worker_threads'
import { BatonError } from '../../core/errors.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { RunContext } from '../../define/task-context.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import { parsedInput } from '../../runtime/run/handler-input.ts'
import { outcomeOfResult, outcomeOfThrown, refuseUnstorable } from '../../runtime/run/outcome.ts'
import { Fatal, Next } from '../../signals.ts'
import { definitionsIn } from '../definitions-in.ts'
import { endOwnGroup } from './end-own-group.ts'
import type { FromProcess, PlainContext, PublishAnswer, ToProcess } from './protocol.ts'

/**
 * The process of one isolated run, started as `process.ts FILE TYPE`. It holds no lease and has no access to the store.
 * Whatever happens to this process, its worker goes on.
 */
const [file = '', type = ''] = process.argv.slice(2)
// The file may be a bundle. Its errors then name the sources.
process.setSourceMapsEnabled(true)
const aborting = new AbortController()
const publishing = new Map<number, (answer: PublishAnswer) => void>()

process.on('message', (message: ToProcess) => {
  switch (message.kind) {
    case 'run':
      return void run(message.input, message.context)
    case 'abort':
      return aborting.abort(new Error(message.reason))
    case 'published':
      return publishing.get(message.call)?.(message.answer)
  }
})
// Ctrl-C and a service manager's stop may reach this process too. Only the worker acts on them: it ends its runs in an orderly way.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', endOwnGroup)
new Thread(new URL(`./watchdog${extname(import.meta.url)}`, import.meta.url)).unref()

async function run(input: unknown, context: PlainContext): Promise<void> {
  const outcome = await outcomeOf(input, context)
  process.send?.({ kind: 'ended', outcome } satisfies FromProcess, () => process.exit(0))
}

async function outcomeOf(input: unknown, context: PlainContext): Promise<Outcome> {
  try {
    const definition = (await definitionsIn(file)).find(one => one.type === type)
    if (!definition) throw new Error(`${file} defines no task '${type}'`)
    const parsed = await parsedInput(input, definition)
    return outcomeOfResult(await definition.run(parsed, { ...context, ...liveContext(context) }))
  } catch (error) {
    return outcomeOfThrown(error)
  }
}

function liveContext({ taskId, step }: PlainContext): Omit<RunContext, keyof PlainContext> {
  return {
    signal: aborting.signal,
    progress: value => {
      refuseUnstorable(value)
      sendToWorker({ kind: 'progress', value })
    },
    next: (stage, options) => {
      if (step !== undefined) throw new Fatal(`${taskId} is a flow: a step cannot move it to a stage`)
      return new Next(stage, options)
    },
    publish: async publication => {
      const call = publishing.size
      const answer = await new Promise<PublishAnswer>(resolve => {
        publishing.set(call, resolve)
        sendToWorker({ kind: 'publish', call, publication })
      })
      if (!answer.ok) throw refusal(answer)
      return { id: answer.id, created: answer.created }
    },
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
  }
}

function refusal({ error, code }: Extract<PublishAnswer, { ok: false }>): Error {
  if (code !== undefined) return new BatonError(code, error.message)
  return Object.assign(new Error(error.message), { name: error.name })
}

function line(level: keyof Log): (message: string, fields?: LogFields) => void {
  return (message, fields) => {
    try {
      sendToWorker({ kind: 'log', level, message, fields })
    } catch {
      // Node cannot send functions, symbols and such to another process: the worker gets the fields as text.
      sendToWorker({ kind: 'log', level, message, fields: { fields: inspect(fields) } })
    }
  }
}

function sendToWorker(message: FromProcess): void {
  process.send?.(message)
}
