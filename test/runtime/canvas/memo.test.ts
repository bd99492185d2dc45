import { expect, it } from 'vitest'
import { createMemo } from '../../../shared/runtime/canvas/canvas.ts'

/** A memory for `most` values, and the names of the values in the order of their reads. */
function aMemo(most: number) {
  const reads: string[] = []
  const memo = createMemo<string>(most, () => 1)
  const read = (name: string, ready: Promise<unknown> = Promise.resolve()) =>
    memo(name, async () => {
      reads.push(name)
      await ready
      return name
    })
  return { read, reads }
}

it('a memory reads each value once, and forgets the value that was read longest ago', async () => {
  const { read, reads } = aMemo(2)

  for (const name of ['a', 'b', 'a', 'c', 'b', 'a']) await read(name)

  expect(reads).toEqual(['a', 'b', 'c', 'a'])
})

it('a memory holds as much after a value was forgotten while it was read', async () => {
  const { read, reads } = aMemo(2)
  const slow = Promise.withResolvers<void>()
  const reading = read('slow', slow.promise)
  for (const name of ['a', 'b', 'c']) await read(name)
  slow.resolve()
  await reading
  reads.length = 0

  for (const name of ['b', 'c', 'b', 'c']) await read(name)

  expect(reads).toEqual([])
})
