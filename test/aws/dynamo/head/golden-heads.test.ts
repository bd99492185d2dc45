import { expect, it } from 'vitest'
import { changedPaths } from '../../../../shared/aws/dynamo/head/head-requests.ts'
import { headItem, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { isTask } from '../../../../shared/core/task/head.ts'
import { anEndedRun, aTask } from '../../../support/tasks/a-task.ts'
import { goldenChanges, goldenHeads } from './golden-heads.ts'

/** The stored form of heads, word for word. Code of other versions reads it, so a difference breaks stored tasks. */

const PLAIN = 'a plain task'

it('heads are stored in the form of all earlier versions', async () => {
  const { [PLAIN]: plain, ...others } = goldenHeads()
  const base = plain ? headItem(plain) : {}
  const texts = Object.entries(others).map(([name, head]) => section(name, differences(base, headItem(head))))

  await expect([section(PLAIN, linesOf(base)), ...texts].join('\n')).toMatchFileSnapshot(
    'golden-heads.snap.txt',
  )
})

it('changes write exactly the paths that differ', async () => {
  const texts = Object.entries(goldenChanges()).map(([name, [before, after]]) => {
    const { set, remove } = changedPaths(headItem(before), headItem(after), ['op', 'ppk', 'psk'])
    const sets = set.map(([path, value]) => `SET ${JSON.stringify(path)} ${canonical(value)}`)
    const removes = remove.map(path => `REMOVE ${JSON.stringify(path)}`)
    return section(name, [...sets.toSorted(), ...removes.toSorted()])
  })

  await expect(texts.join('\n')).toMatchFileSnapshot('golden-changes.snap.txt')
})

it('the paths of a change lead from any head to any other one', () => {
  const heads = [...Object.values(goldenHeads()), ...Object.values(goldenChanges()).flat()]
  const items = heads.map(head => headItem(head))

  for (const before of items) {
    for (const after of items) expect(withPaths(before, changedPaths(before, after))).toEqual(after)
  }
})

const numbered = <T>(count: number, one: (nth: number) => T): T[] =>
  Array.from({ length: count }, (_, nth) => one(nth))
const manyRuns = (count: number) => aTask({ ended: numbered(count, nth => anEndedRun({ fence: nth + 1 })) })
const manyFailures = (count: number) =>
  aTask({ failuresBy: Object.fromEntries(numbered(count, nth => [`w${nth}`, 1])) })

it.each([
  ['ended runs', 'ended', manyRuns],
  ['failures of workers', 'failuresBy', manyFailures],
])('a change writes up to forty %s one by one, and more of them as a whole map', (_what, map, many) => {
  const pathsTo = (count: number) =>
    changedPaths(headItem(many(1)), headItem(many(count))).set.filter(([path]) => path[0] === map)

  expect(pathsTo(41).map(([path]) => path.length)).toEqual(Array(40).fill(2))
  expect(pathsTo(42).map(([path]) => path)).toEqual([[map]])
})

/** The item after these paths were written. */
function withPaths(item: object, { set, remove }: ReturnType<typeof changedPaths>): object {
  const written: Record<string, unknown> = structuredClone({ ...item })
  const mapOf = (path: readonly string[]) =>
    path.slice(0, -1).reduce((map, name) => map[name] as typeof written, written)
  for (const [path, value] of set) mapOf(path)[path.at(-1) ?? ''] = value
  for (const path of remove) delete mapOf(path)[path.at(-1) ?? '']
  return written
}

it.each(Object.entries(goldenHeads()))('%s is read as it was written', (_name, task) => {
  const read = taskFromItem(headItem(task), isTask(task) ? task.flow?.definition : undefined)

  expect(read).toEqual(task)
})

it('a slot that earlier code has reserved for a task is read as a place in the line of the limit', () => {
  const { id } = aTask()
  const stored = { ...headItem(aTask()), wait: { of: 'resize', at: 1, terms: '1/1000' } }

  expect(taskFromItem(stored)).toMatchObject({ id, wait: { kind: 'slot', limit: 'resize' } })
})

function section(name: string, lines: readonly string[]): string {
  return `## ${name}\n${lines.join('\n')}\n`
}

/** The attributes that a plain task does not have in the same form, and the names of those that only a plain task has. */
function differences(plain: object, item: object): string[] {
  const known = linesOf(plain)
  const own = linesOf(item).filter(line => !known.includes(line))
  const missing = Object.keys(plain).filter(name => !(name in item))
  return [...own, ...missing.toSorted().map(name => `no ${name}`)]
}

function linesOf(item: object): string[] {
  return Object.entries(item)
    .map(([name, value]) => `${name} ${canonical(value)}`)
    .toSorted()
}

/** JSON text with sorted keys, because the table keeps no order of keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}
