import { extname } from 'node:path'
import { inspect } from 'node:util'
import { Worker as Thread } from 'node:worker_threads'
import type { Outcome } from '../../core/run/run.ts'
import { BatonError, defined, type Json } from '../../core/values/values.ts'
import type { ChildPublication } from '../../define/definitions.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import type { Published } from '../../ports/runs.ts'
import { callHandler, handlerContext, outcomeOfThrown } from '../../runtime/handler/handler.ts'
import { definitionsIn } from '../definitions-in.ts'
import { endOwnGroup } from './end-own-group.ts'
import type { FromProcess, PlainContext, PublishAnswer, ToProcess } from './protocol.ts'

/**
 * The process of one isolated run, started as `process.ts FILE TYPE`. It holds no lease and has no access to the store.
 * Whatever happens to this process, its worker continues.
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

async function run(input: Json | undefined, facts: PlainContext): Promise<void> {
  const outcome = await outcomeOf(input, facts)
  process.send?.({ kind: 'ended', outcome } satisfies FromProcess, () => process.exit(0))
}

async function outcomeOf(input: Json | undefined, facts: PlainContext): Promise<Outcome> {
  try {
    const definition = (await definitionsIn(file)).find(one => one.type === type)
    if (!definition) throw new Error(`${file} defines no task '${type}'`)
    const { signal } = aborting
    const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
    const record = (value: Json) => sendToWorker({ kind: 'progress', value })
    const context = handlerContext(facts, { signal, over: signal, log, record, publish })
    return await callHandler({ definition, context, content: async () => defined({ input }) })
  } catch (error) {
    return outcomeOfThrown(error)
  }
}

async function publish(publication: ChildPublication): Promise<Published> {
  const call = publishing.size
  const answer = await new Promise<PublishAnswer>(resolve => {
    publishing.set(call, resolve)
    sendToWorker({ kind: 'publish', call, publication })
  })
  if (!answer.ok) throw refusal(answer)
  return { id: answer.id, created: answer.created }
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
