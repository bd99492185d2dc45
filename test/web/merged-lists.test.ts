import { beforeEach, describe, expect, it } from 'vitest'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { type ReadList, taskPage } from '../../web/api/merged-lists.ts'

/** The list of tasks of many types. The API's lists are made up. */

const asked: Array<readonly string[]> = []
/** Each type has so many tasks; tasks of a type are ten minutes apart, and types are a minute apart. */
const TASKS_OF_TYPE = 12

const at = (minute: number) => new Date(minute * 60_000).toISOString()

const listPage: ReadList = async ({ type = [], limit = 20, cursor = '0' }) => {
  asked.push([type].flat())
  const all = [type]
    .flat()
    .flatMap(type =>
      Array.from({ length: TASKS_OF_TYPE }, (_, nth) => ({
        id: `${type}:${nth}`,
        createdAt: at(nth * 100 + Number(type.slice(1))),
      })),
    )
    .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const next = Number(cursor) + limit
  const items = all.slice(Number(cursor), next) as unknown as ApiTask[]
  return { items, ...(next < all.length && { nextCursor: String(next) }) }
}

const types = (count: number) => Array.from({ length: count }, (_, nth) => `t${nth}`)

describe('the tasks of many types', () => {
  beforeEach(() => {
    asked.length = 0
  })

  it.each([1, 10, 11, 35])('of %d types come in one order, each task once', async count => {
    const seen: Array<{ id: string; createdAt: string }> = []
    let page = await taskPage(listPage, { type: types(count), order: '-created' })
    seen.push(...page.items)
    while (page.next) {
      page = await taskPage(listPage, { type: types(count), order: '-created' }, page.next)
      seen.push(...page.items)
    }

    const times = seen.map(({ createdAt }) => createdAt)
    expect(times).toEqual(times.toSorted().reverse())
    expect(new Set(seen.map(({ id }) => id)).size).toBe(count * TASKS_OF_TYPE)
    expect(Math.max(...asked.map(({ length }) => length))).toBeLessThanOrEqual(10)
  })

  it('that are delayed come last in the order of ends, where they would hide all others', async () => {
    const statuses: unknown[] = []
    const read: ReadList = async ({ status, order }) => {
      statuses.push([[status].flat().length, order])
      return { items: [status].flat().includes('delayed') ? [aTask('delayed')] : [aTask('ended')] }
    }
    const aTask = (id: string) => ({ id, dueAt: at(id === 'delayed' ? 9 : 1) }) as ApiTask

    const { items, next } = await taskPage(read, { type: 't1', order: '-ended' })

    expect(items.map(({ id }) => id)).toEqual(['ended', 'delayed'])
    expect(next).toBeUndefined()
    expect(statuses).toEqual([
      [6, '-ended'],
      [1, 'due'],
    ])
  })

  it('costs one request for each ten types on the first page', async () => {
    await taskPage(listPage, { type: types(35), order: '-created' })

    expect(asked).toHaveLength(4)
  })
})
