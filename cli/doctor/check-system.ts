import type { ApiDeadLetter } from '../../shared/api/diagnosis/dead-letters.ts'
import type { ApiType, ApiWorker } from '../../shared/api/types.ts'
import { createClient } from '../../shared/client/client.ts'
import type { Context, FollowUp } from '../connection/with-system.ts'
import { ownVersion, shellWord } from '../terminal/io.ts'
import { durationText, relativeTime } from '../terminal/style.ts'
import { type Finding, fine, notice, orFine, wrong } from './check-stack.ts'

const CHECK = 'version'

/**
 * Whether this command and the system understand each other. Both follow semantic versioning: within a major version the API only grows. As
 * long as the major version is 0, each minor version counts as one.
 */
export async function checkVersion({ client }: Context): Promise<Finding[]> {
  const { version: theirs } = (await client.health()) as { readonly version?: string }
  return [compared(ownVersion(), theirs)]
}

/** Compares the version of this command with the version that the API reports. The API of an early version reports none. */
export function compared(own: string, theirs: string | undefined): Finding {
  const [ownLine, theirLine] = [lineOf(own), lineOf(theirs ?? '')]
  if (theirs === undefined || theirLine === undefined) {
    const text = `the API does not report its version; this command has version ${own}`
    return notice(CHECK, text, 'deploy the system again with a current version')
  }
  if (ownLine === theirLine) {
    const both = own === theirs ? `version ${own}` : `versions ${own} and ${theirs}, which fit`
    return fine(CHECK, `this command and the system have ${both}`)
  }
  return notice(
    CHECK,
    `this command has version ${own} and the system ${theirs}: calls and answers may differ`,
    `use the command of the system: npx ${shellWord(`baton-tasks@${theirs}`)}; or deploy the system with ${own}`,
  )
}

/** The versions that understand each other: `1` for `1.4.2`, `0.3` for `0.3.1`. Undefined for a text that is not a version. */
function lineOf(version: string): string | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+[\w.+-]*$/.exec(version) ?? []
  return major === '0' ? `0.${minor}` : major
}

/** AWS refuses signatures that are older than five minutes, and leases are some seconds long. */
const WRONG_SKEW_MS = 60_000
const NOTICED_SKEW_MS = 3_000

/** Whether the API answers, and how far its clock is from the one of this machine. */
export async function checkClock({ url, fetch, io }: Context): Promise<Finding[]> {
  const sentAt = io.now()
  let date: string | null = null
  const observed = async (request: Request) => {
    const response = await fetch(request)
    date = response.headers.get('date')
    return response
  }
  await createClient({ url, fetch: observed }).types({ limit: 1 })
  return [fine('api', `the API answers at ${url}`), ...skewFindings(date, (sentAt + io.now()) / 2)]
}

/** The header has whole seconds, so half a second is added to its time. */
function skewFindings(date: string | null, now: number): Finding[] {
  const skewMs = Date.parse(date ?? '') + 500 - now
  if (Number.isNaN(skewMs)) return []
  const check = 'clock'
  const size = Math.abs(skewMs)
  if (size < NOTICED_SKEW_MS) return [fine(check, 'the clocks agree')]
  const side = skewMs < 0 ? 'ahead of' : 'behind'
  const text = `the clock of this machine is ${durationText(size)} ${side} the clock of the API`
  const found = size < WRONG_SKEW_MS ? notice : wrong
  return [found(check, text, 'set the clock: signatures and shown times depend on it')]
}

/** A ready task that has waited for longer is shown. */
const LONG_WAIT_MS = 15 * 60_000

/**
 * Whether a type is paused, whether ready tasks of a type wait without a worker, and whether a ready task has waited for long. A type
 * without a ready task may have no worker: it is not looked at.
 */
export async function checkTypes(context: Context): Promise<Finding[]> {
  const types = await all(page => context.client.types(page))
  const workers = await all(page => context.client.workers(page))
  const findings: Finding[] = []
  for (const type of types) findings.push(...(await checkType(context, type, workers)))
  return orFine(
    'types',
    findings,
    `no type (of ${types.length}) is paused, no ready task waits without a worker, and none has been ready for more than ${durationText(LONG_WAIT_MS)}`,
  )
}

type ReadPage<Item> = (page: {
  readonly limit: number
  readonly cursor?: string
}) => Promise<{ readonly items: readonly Item[]; readonly nextCursor?: string }>

async function all<Item>(read: ReadPage<Item>): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read({ limit: 100, ...(cursor !== undefined && { cursor }) })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}

async function checkType(
  { client, io, followUp }: Context,
  type: ApiType,
  workers: readonly ApiWorker[],
): Promise<Finding[]> {
  const name = type.type
  const isServed =
    type.kind !== 'http' || workers.some(({ types, state }) => state === 'live' && types.includes(name))
  const { items } = await client.listPage({ type: name, status: ['ready'], order: 'due', limit: 1 })
  const [oldest] = items
  const waitMs = oldest ? io.now() - Date.parse(oldest.dueAt) : 0
  const findings = type.paused ? [notice('types', `${name} is paused`, followUp('resume', name))] : []
  const unserved = `no live worker serves ${name}, and tasks wait`
  if (oldest && !isServed) findings.push(wrong('types', unserved, 'start a worker that claims this type'))
  if (oldest && waitMs > LONG_WAIT_MS) {
    const reason = oldest.statusReason ? ` (${oldest.statusReason})` : ''
    const text = `${oldest.id} has been ready for ${durationText(waitMs)}${reason}`
    findings.push(wrong('waiting', text, followUp('doctor', oldest.id)))
  }
  return findings
}

const READ_MAX = 100

/** Whether messages were given up. Those that can be sent again wait for an operator. The others only say what has happened. */
export async function checkDeadLetters({ client, io, followUp }: Context): Promise<Finding[]> {
  const { items, nextCursor } = await client.deadLettersPage({ limit: READ_MAX })
  const check = 'dead letters'
  const waiting = items.filter(({ replayable }) => replayable)
  const others = items.filter(({ replayable }) => !replayable)
  const counted = (of: readonly ApiDeadLetter[]) =>
    `${of.length}${nextCursor === undefined ? '' : ' or more'}, the last ${lastOf(of, io.now())}`
  const causes = `see the causes: ${followUp('dead-letters')}`
  const found: Finding[] = []
  if (waiting.length > 0) {
    const next = `${causes}; then send them again: ${replaysOf(waiting, followUp)}`
    found.push(wrong(check, `messages given up and not sent again: ${counted(waiting)}`, next))
  }
  if (others.length > 0)
    found.push(notice(check, `messages given up that cannot be sent again: ${counted(others)}`, causes))
  return orFine(check, found, 'no message was given up')
}

function replaysOf(letters: readonly ApiDeadLetter[], followUp: FollowUp): string {
  const queues = new Set(letters.map(({ queue }) => queue))
  return [...queues].map(queue => followUp('dead-letters', 'replay', '--queue', queue)).join('; ')
}

function lastOf(letters: readonly ApiDeadLetter[], now: number): string {
  const times = letters.map(({ arrivedAt }) => arrivedAt).sort()
  return relativeTime(times.at(-1), now)
}
