import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createIdleList } from '../../../local/functions/processes.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('the last process of a function ends after five idle minutes, the others after ten seconds', () => {
  const present = new Set(['first', 'second', 'third'])
  const idle = createIdleList<string>(
    name => present.delete(name),
    () => present.size > 1,
  )
  for (const name of present) idle.put(name)

  vi.advanceTimersByTime(11 * SECOND)
  expect([...present]).toEqual(['third'])
  vi.advanceTimersByTime(4 * MINUTE)
  expect([...present]).toEqual(['third'])

  vi.advanceTimersByTime(MINUTE)
  expect([present.size, idle.size()]).toEqual([0, 0])
})

it('a process that is taken does not end, and the one that was used last is taken first', () => {
  const retired: string[] = []
  const idle = createIdleList<string>(
    name => retired.push(name),
    () => true,
  )
  idle.put('first')
  idle.put('second')

  expect(idle.take()).toBe('second')
  vi.advanceTimersByTime(10 * MINUTE)

  expect(retired).toEqual(['first'])
})
