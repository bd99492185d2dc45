import { expect, it } from 'vitest'
import { changedPaths } from '../../../../shared/aws/dynamo/head/head-requests.ts'
import { headItem, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { isTask } from '../../../../shared/core/task/head.ts'
import { aTask } from '../../../support/tasks/a-task.ts'
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
