import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { ScanCommand, type ScanCommandOutput } from '@aws-sdk/lib-dynamodb'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUNDLE_OPTIONS } from '../../infra/bundling/esbuild.ts'
import { aTableWorld, ORDERS, type TableWorld } from '../support/worlds/a-table-world.ts'

/**
 * Kills the process of a user around the send of a transaction, 200 times, or 1,000 times with `MEASURE=1`. Then compares the orders with
 * the tasks. Some kills come before the request, some while it is under way, some before its answer, and some after it.
 */

const KILLS = process.env.MEASURE ? 1_000 : 200
const AT_ONCE = 4
/** A send takes some milliseconds. */
const LATEST_KILL_MS = 12

let world: TableWorld
let shop: string

beforeAll(async () => {
  world = await aTableWorld()
  await world.register('resize', { kind: 'http', defaults: {} })
  shop = join(mkdtempSync(join(tmpdir(), 'shop-')), 'shop.mjs')
  await build({ ...BUNDLE_OPTIONS, entryPoints: ['test/table/fixtures/shop.ts'], outfile: shop })
})
afterAll(() => world?.stop())

it(`an order is stored if and only if its task is, also when the program is killed in between, ${KILLS} times`, async () => {
  const left = Array.from({ length: KILLS }, (_, nth) => nth).values()
  const lastWords: string[] = []
  const lane = async () => {
    for (const nth of left) lastWords.push(await killedWhileSelling(`p${nth}`))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))

  expect(lastWords).toHaveLength(KILLS)
  // DynamoDB may still be at work on the last requests.
  await expect.poll(unmatched).toEqual([])
  if (process.env.MEASURE) {
    const orders = await idsIn(ORDERS, orderOfOrder)
    const met = lastWords.filter(word => word.startsWith('sends ')).map(word => word.split(' ')[1] ?? '')
    const stored = met.filter(key => orders.has(key)).length
    console.log(`${met.length} of ${KILLS} kills met a transaction: ${stored} of these were stored`)
  }
}, 1_800_000)

const orderOfOrder = ({ id }: Record<string, unknown>) => String(id)
const orderOfHead = ({ pk, sk }: Record<string, unknown>) => (sk === 'head' ? orderOfTask(pk) : '')
const orderOfInput = ({ pk, sk }: Record<string, unknown>) =>
  String(sk).startsWith('in#') ? orderOfTask(pk) : ''
const orderOfTask = (id: unknown) => String(id).slice('resize:'.length)

/** The orders without their whole task, and the tasks without their order. */
async function unmatched(): Promise<string[]> {
  const orders = await idsIn(ORDERS, orderOfOrder)
  const heads = await idsIn(world.table, orderOfHead)
  const inputs = await idsIn(world.table, orderOfInput)
  const hasInput = (key: string) => Number(key.split('-')[1]) % 2 === 1
  const isWhole = (key: string) => orders.has(key) && heads.has(key) && inputs.has(key) === hasInput(key)
  return [...new Set([...orders, ...heads, ...inputs])].filter(key => !isWhole(key))
}

/** Starts a shop, kills it some milliseconds after one of its first sends has begun, and returns its last line. */
async function killedWhileSelling(prefix: string): Promise<string> {
  const child = spawn(process.execPath, [shop, world.table, ORDERS, prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let sends = Math.ceil(Math.random() * 3)
  let last = ''
  createInterface({ input: child.stdout }).on('line', line => {
    last = line
    if (line.startsWith('sends ')) sends -= 1
    if (sends === 0) {
      sends = -1
      void sleep(Math.random() * LATEST_KILL_MS).then(() => child.kill('SIGKILL'))
    }
  })
  const [code, signal] = await ended
  if (signal !== 'SIGKILL') throw new Error(`the shop ended by itself, with ${code}; its last line: ${last}`)
  return last
}

async function idsIn(
  table: string,
  idOf: (item: Record<string, unknown>) => string,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  let start: ScanCommandOutput['LastEvaluatedKey']
  do {
    const page: ScanCommandOutput = await world.documents.send(
      new ScanCommand({ TableName: table, ConsistentRead: true, ...(start && { ExclusiveStartKey: start }) }),
    )
    for (const item of page.Items ?? []) ids.add(idOf(item))
    start = page.LastEvaluatedKey
  } while (start)
  ids.delete('')
  return ids
}
