import { targetOf } from '../api/endpoints.ts'
import type { PublishBody, PublishResult } from '../api/publish.ts'
import { BATCH_BYTES_MAX, BATCH_ESCAPED_BYTES_MAX, BATCH_TASKS_MAX } from '../core/bounds.ts'
import type { AnyDefinition, InputOf } from '../define/definitions.ts'
import { isOutage, isProblem } from './outage.ts'
import type { ProblemError } from './problem-error.ts'
import type { isRepeatable, PublishOptions, refuseInput, withKey } from './publish.ts'
import type { CallOptions, Send, unsendable } from './send.ts'

/** Many of something: a list, or what yields them one after the other, such as the lines of a file. */
export type Many<Item> = Iterable<Item> | AsyncIterable<Item>

/** A task of one definition: its input and its options. */
export type TaskOf<Definition extends AnyDefinition> = PublishOptions & {
  readonly input?: InputOf<Definition>
}

export type PublishManyOptions = CallOptions & {
  /** How many requests are under way at a time. @default 4 */
  readonly concurrency?: number
}

const DEFAULT_CONCURRENCY = 4
/** What has a backslash more in a JSON string. JSON text has no other such characters. */
const ESCAPED = /["\\]/

type Member = {
  readonly index: number
  readonly body: PublishBody
  /** The body as JSON. */
  readonly text: string
  /** Whether the client made the key. */
  readonly isKeyOurs: boolean
}

/** What the client gives to the batches, so that a browser loads their code alone. */
export type BatchTools = {
  readonly send: Send
  readonly refuseInput: typeof refuseInput
  readonly withKey: typeof withKey
  readonly isRepeatable: typeof isRepeatable
  readonly unsendable: typeof unsendable
  readonly ProblemError: typeof ProblemError
}

/** Publishes bodies in batches, several at a time. It takes further bodies only as fast as they are sent. */
export async function publishMany(
  tools: BatchTools,
  bodies: Many<PublishBody>,
  definition: AnyDefinition | undefined,
  { concurrency = DEFAULT_CONCURRENCY, ...call }: PublishManyOptions,
): Promise<PublishResult[]> {
  const results: PublishResult[] = []
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const members = checked(tools, bodies, definition, (index, result) => {
    results[index] = result
  })
  for await (const batch of batchesOf(members)) {
    const sent: Promise<void> = sendBatch(tools, batch, call)
      .then(
        answers => {
          for (const [at, member] of batch.entries()) results[member.index] = resultOf(member, answers[at])
        },
        error => void failures.push(error),
      )
      .finally(() => underWay.delete(sent))
    underWay.add(sent)
    if (underWay.size >= concurrency) await Promise.race(underWay)
    if (failures.length > 0) break
  }
  await Promise.all(underWay)
  if (failures.length > 0) throw failures[0]
  return results
}

/** The bodies whose input fits the definition. A wrong one gets its result here and is not sent. */
async function* checked(
  tools: BatchTools,
  bodies: Many<PublishBody>,
  definition: AnyDefinition | undefined,
  refuse: (index: number, result: PublishResult) => void,
): AsyncGenerator<Member, void, undefined> {
  let index = 0
  for await (const given of bodies) {
    const body = tools.withKey(definition ? { ...given, type: definition.type } : given)
    const refusal = definition && (await tools.refuseInput(definition, body.input).catch(problemIn))
    const text = refusal ?? jsonOf(body, tools)
    if (typeof text !== 'string') refuse(index, { status: text.status, problem: text.problem })
    else yield { index, body, text, isKeyOurs: body.key !== given.key }
    index += 1
  }
}

function jsonOf(body: PublishBody, { unsendable: problemOf }: BatchTools): string | ProblemError {
  try {
    return JSON.stringify(body)
  } catch (error) {
    return problemOf(`the task of ${body.type}`, error)
  }
}

/** As for a single publish: no other one has a key that was made for this one, so an earlier try has created the task. */
function resultOf({ isKeyOurs }: Member, answer: PublishResult | undefined): PublishResult {
  const result = answer as PublishResult
  return isKeyOurs && result.created === false ? { ...result, status: 201, created: true } : result
}

function problemIn(error: unknown): ProblemError {
  if (isProblem(error)) return error
  throw error
}

/** Collects the members of batches that fit one request each. */
async function* batchesOf(members: AsyncIterable<Member>): AsyncGenerator<Member[], void, undefined> {
  let batch: Member[] = []
  let bytes = 0
  let escaped = 0
  for await (const member of members) {
    const { text } = member
    const ownBytes = new TextEncoder().encode(text).length + 1
    const ownEscaped = ownBytes + text.split(ESCAPED).length - 1
    const isFull =
      batch.length === BATCH_TASKS_MAX ||
      bytes + ownBytes > BATCH_BYTES_MAX ||
      escaped + ownEscaped > BATCH_ESCAPED_BYTES_MAX
    if (isFull && batch.length > 0) {
      yield batch
      ;[batch, bytes, escaped] = [[], 0, 0]
    }
    batch.push(member)
    bytes += ownBytes
    escaped += ownEscaped
  }
  if (batch.length > 0) yield batch
}

/**
 * Publishes one batch. Members that the API could not store for now are sent again. When no further try is answered, each member without
 * a result gets the problem, because other members and batches may have been published. A refusal of the first request would be the
 * same for every batch, so it is thrown.
 */
async function sendBatch(
  { send, isRepeatable, ProblemError: Problems }: BatchTools,
  batch: readonly Member[],
  call: CallOptions,
): Promise<readonly PublishResult[]> {
  const results = new Map<Member, PublishResult>()
  let open = batch
  const mayRepeat = ({ body }: Member) => isRepeatable(body)
  const take = (answer: unknown) => {
    for (const [at, result] of (answer as { results: PublishResult[] }).results.entries())
      results.set(open[at] as Member, result)
    open = open.filter(member => isWorthAnotherTry(results.get(member), mayRepeat(member)))
    const problem = open[0] && results.get(open[0])?.problem
    // Nothing of what is still open was stored, so the request is sent again like one that was refused for now.
    if (problem) throw new Problems({ ...problem, status: TOO_MANY_REQUESTS })
  }
  // Each try sends what is open by then.
  const body = {
    get tasks() {
      return open.map(member => member.body)
    },
  }
  const ask = {
    ...{ body, take, call },
    get isRepeatable() {
      return open.every(mayRepeat)
    },
  }
  try {
    await send(targetOf('publishMany'), ask)
  } catch (error) {
    if (!isProblem(error) || error.code === 'aborted' || (results.size === 0 && !isOutage(error))) throw error
    for (const member of open) if (!results.has(member)) results.set(member, unsent(member, error))
  }
  return batch.map(member => results.get(member) as PublishResult)
}

const TOO_MANY_REQUESTS = 429
const UNAVAILABLE = 503

/** Whether a later try may store the member, and does no harm if this one has stored it after all. */
function isWorthAnotherTry(result: PublishResult | undefined, mayRepeat: boolean): boolean {
  if (result?.problem === undefined) return false
  return result.status === TOO_MANY_REQUESTS || (result.status === UNAVAILABLE && mayRepeat)
}

function unsent({ body: { type, key } }: Member, { status, problem }: ProblemError): PublishResult {
  return { status, ...(key !== undefined && { id: `${type}:${key}` }), problem }
}
