import { expect, it } from 'vitest'
import { differences, errorsIn, expectationsIn } from './expectations.ts'
import { PROJECT } from './foreign-project.ts'

// The sources under the newest compiler. matrix.slow.test.ts has the built package, both compilers and several settings.

it('a user gets one readable error for each wrong call, and none for the others', () => {
  const errors = errorsIn(PROJECT, 7)

  const expected = expectationsIn(PROJECT)
  expect(expected.length).toBeGreaterThan(50)
  expect(differences(errors, expected)).toEqual([])
})

it('a line with two errors, with another error or with none is reported', () => {
  const expected = [{ file: 'a.ts', line: 1, message: 'wrong', code: '' }]
  const error = (line: number, message: string) => ({ file: 'a.ts', line, message })

  expect(differences([error(1, 'TS1: wrong type')], expected)).toEqual([])
  expect(differences([], expected)).toEqual(["a.ts:1 should say 'wrong', not: nothing"])
  expect(differences([error(1, 'odd')], expected)).toEqual(["a.ts:1 should say 'wrong', not: odd"])
  expect(differences([error(1, 'wrong'), error(1, 'wrong')], expected)).toHaveLength(1)
  expect(differences([error(1, 'wrong'), error(2, 'odd')], expected)).toEqual(['a.ts:2 has an error: odd'])
})
