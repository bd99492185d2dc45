import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDevProcess } from '../test/support/dev/dev-process.ts'
import { aShop, aTask } from '../test/support/dev/shop.ts'
import type { Row } from './row.ts'

const HANDLERS = 90
const MB = 1_000_000

/** Measures the memory of the local system: at most during the demonstration, and with many handlers that are idle. */
export async function memoryRows(): Promise<Row[]> {
  const control = { name: 'one Node process that waits', value: await memoryOfNode() }
  const [demonstration, idle] = [await peakOfDemonstration(), await memoryOfIdleHandlers()]
  return [
    {
      ...{ name: 'memory: npm start with its workload, the most', value: demonstration.bytes / MB },
      ...{ unit: 'MB', control, bound: { of: 'value', max: 1_000 } },
    },
    {
      ...{ name: `memory: baton dev with ${HANDLERS} idle handlers`, value: idle.bytes / MB },
      ...{ unit: 'MB', control, bound: { of: 'value', max: 1_500 } },
    },
  ]
}

async function memoryOfNode(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'])
  await once(child.stdout, 'data')
  const { bytes } = memoryOfTree(child.pid as number)
  child.kill()
  return bytes / MB
}

async function peakOfDemonstration(): Promise<TreeMemory> {
  const child = spawn(process.execPath, ['scripts/start.ts', '--once'], {
    stdio: 'ignore',
    env: { ...process.env, PORT: '0' },
  })
  const peak = await peakOfTree(child)
  if (child.exitCode !== 0) throw new Error(`the demonstration ended with ${child.exitCode}`)
  return peak
}

async function memoryOfIdleHandlers(): Promise<TreeMemory> {
  const names = Array.from({ length: HANDLERS }, (_, nth) => `idle${nth}`)
  const files = names.map(name => [`tasks/${name}.ts`, aTask(name, '')])
  const shop = aShop(Object.fromEntries(files))
  const added = names.map(name => `tasks.addHandler('${name}', { entry: 'tasks/${name}.ts' })`)
  shop.edit('infra/app.ts', '// more', added.join('\n'))
  const dev = await startDevProcess(shop.folder)
  const memory = memoryOfTree(dev.child.pid as number)
  await dev.stop()
  return memory
}

/** What the processes of a tree take of the machine's memory, in bytes. */
type TreeMemory = { readonly processes: number; readonly bytes: number }

/**
 * Adds up the memory of a process and of all that it has started. Each process counts its share of the pages that several have in
 * common (PSS), such as the program of Node. Linux only.
 */
function memoryOfTree(root: number): TreeMemory {
  const members = treeOf(root)
  const bytes = members.map(shareOf).reduce((sum, one) => sum + one, 0)
  return { processes: members.length, bytes }
}

/** Looks at a tree until its root has ended, and returns the largest sum that it has seen. */
async function peakOfTree(root: ChildProcess): Promise<TreeMemory> {
  let peak: TreeMemory = { processes: 0, bytes: 0 }
  while (root.exitCode === null && root.signalCode === null) {
    const now = memoryOfTree(root.pid as number)
    if (now.bytes > peak.bytes) peak = now
    await sleep(LOOK_EVERY_MS)
  }
  return peak
}

const LOOK_EVERY_MS = 250

function treeOf(root: number): number[] {
  const parents = readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .map(pid => [pid, parentOf(pid)] as const)
  const below = (pid: number): number[] => [
    pid,
    ...parents.filter(([, parent]) => parent === pid).flatMap(([child]) => below(child)),
  ]
  return below(root)
}

/** A process may end while it is looked at. */
function parentOf(pid: number): number | undefined {
  const [, parent] = /^PPid:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`)) ?? []
  return parent === undefined ? undefined : Number(parent)
}

function shareOf(pid: number): number {
  const [, kilobytes = '0'] = /^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`)) ?? []
  return Number(kilobytes) * 1_024
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
