import { defined, type Json } from '../../shared/core/values/values.ts'
import type { Operation } from '../../shared/service/operation.ts'
import type { AnswerOf, Body, ExampleRequest, Exchange, Happening, Step } from './exchange.ts'
import { memberIn } from './exchange.ts'

/** The ids in the paths of the exchanges that name no others, by the first segment of the path. */
const EXAMPLE_PATH: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tasks: { id: 'resize:img-1' },
  types: { type: 'resize' },
  canvases: { id: 'canvas:album-7' },
  schedules: { name: 'nightly-report' },
  bulk: { id: 'none' },
}

export type Answered = {
  readonly status: number
  readonly headers: Headers
  /** Undefined for an answer without a body. */
  readonly body: Json | undefined
}

/** The system that the conversation is held with. */
export type Stage = {
  ask(request: {
    readonly method: string
    /** The path, percent-encoded, and the query. */
    readonly target: string
    readonly body?: Json
    /** The content type of the body. @default application/json */
    readonly contentType?: string
    readonly isCrowded?: true
    readonly isStream?: true
  }): Promise<Answered>
  happen(happening: Happening): Promise<void>
}

/** An exchange as it was: the whole request, and its answer. */
export type Exchanged = Exchange & {
  readonly request: Required<Pick<ExampleRequest, 'path' | 'query'>> & Pick<ExampleRequest, 'body'>
  readonly method: string
  readonly target: string
  readonly answer: Answered
}

/** Holds the conversation with a system. @throws Error when an answer has another status than the exchange expects */
export async function play(
  operations: readonly Operation[],
  steps: readonly Step[],
  stage: Stage,
): Promise<Exchanged[]> {
  const exchanged: Exchanged[] = []
  const answerOf: AnswerOf = (operation, name) => {
    const found = exchanged.find(one => one.operation === operation && one.name === name)
    if (!found) throw new Error(`no exchange ${name} of ${operation} comes before the one that needs it`)
    return found.answer.body as Body
  }
  for (const step of steps) {
    if (!('operation' in step)) await stage.happen(step)
    else exchanged.push(await exchange(step, operations, answerOf, stage))
  }
  return exchanged
}

async function exchange(
  step: Exchange,
  operations: readonly Operation[],
  answerOf: AnswerOf,
  stage: Stage,
): Promise<Exchanged> {
  const { operation, name, status, asks, contentType, isCrowded, isStream } = step
  const served = operations.find(one => one.name === operation)
  if (!served) throw new Error(`the examples name the operation ${operation}, which does not exist`)
  const {
    path = {},
    query = {},
    body,
  } = withRun(typeof asks === 'function' ? asks(answerOf) : asks, answerOf)
  const method = served.method.toUpperCase()
  const named = namesIn(served.path, path)
  const target = targetOf(served.path, named, query)
  const sent = body === undefined ? {} : { body }
  const answer = await stage.ask({
    method,
    target,
    ...sent,
    ...defined({ contentType, isCrowded, isStream }),
  })
  if (answer.status !== status) {
    const was = `${answer.status}: ${JSON.stringify(answer.body)}`
    throw new Error(
      `the example ${name} of ${operation} expects ${status}, but ${method} ${target} was answered with ${was}`,
    )
  }
  return { ...step, request: { path: named, query, ...sent }, method, target, answer }
}

/** The request with what follows from its run. */
function withRun({ run, ...asked }: ExampleRequest, answerOf: AnswerOf): ExampleRequest {
  if (!run) return asked
  const { taskId: id, runId, fence } = memberIn(answerOf, ...run)
  return { path: { id, runId }, body: { fence, ...(asked.body as object) } }
}

/** The names in the path: from the request, else the usual ones. */
function namesIn(path: string, given: Readonly<Record<string, string>>): Record<string, string> {
  const usual = EXAMPLE_PATH[path.split('/')[2] ?? ''] ?? {}
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return Object.fromEntries(names.map(name => [name, given[name] ?? usual[name] ?? '']))
}

function targetOf(
  path: string,
  named: Readonly<Record<string, string>>,
  query: Required<ExampleRequest>['query'],
): string {
  const filled = Object.entries(named).reduce(
    (text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  )
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return pairs.length > 0 ? `${filled}?${new URLSearchParams(pairs)}` : filled
}
