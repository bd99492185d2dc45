import type { ApiType } from '../../shared/api/types.ts'
import type { ApiWorker } from '../../shared/api/workers.ts'
import type { Context } from '../system/with-system.ts'
import { durationText } from '../terminal/times.ts'
import type { Finding } from './finding.ts'

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
  const fine: Finding = {
    level: 'fine',
    check: 'types',
    text: `no type (of ${types.length}) is paused, no ready task waits without a worker, and none has been ready for more than ${durationText(LONG_WAIT_MS)}`,
  }
  return findings.length > 0 ? findings : [fine]
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
  const findings: Finding[] = []
  const isServed = type.kind !== 'http' || workers.some(({ types }) => types.includes(name))
  const { items } = await client.listPage({ type: name, status: ['ready'], order: 'due', limit: 1 })
  const [oldest] = items
  const waitMs = oldest ? io.now() - Date.parse(oldest.dueAt) : 0
  if (type.paused)
    findings.push({
      level: 'notice',
      check: 'types',
      text: `${name} is paused`,
      next: followUp('resume', name),
    })
  if (oldest && !isServed)
    findings.push({
      level: 'wrong',
      check: 'types',
      text: `no live worker serves ${name}, and tasks wait`,
      next: 'start a worker that claims this type',
    })
  if (oldest && waitMs > LONG_WAIT_MS)
    findings.push({
      level: 'wrong',
      check: 'waiting',
      text: `${oldest.id} has been ready for ${durationText(waitMs)}${oldest.statusReason ? ` (${oldest.statusReason})` : ''}`,
      next: followUp('doctor', oldest.id),
    })
  return findings
}
