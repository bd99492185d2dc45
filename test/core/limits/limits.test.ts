import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldValue, limitName, limitValue } from '../../../shared/core/limits/limits.ts'
import { aTask } from '../../support/tasks/a-task.ts'

const oddText = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })

describe('the name of a limit', () => {
  it.each(['\ud800', 'a\udfffb', '\u0000', 'a\nb', '\uffff', '\ufdd0', '\u{1fffe}'])(
    'of the value %j is one that the table takes as a key',
    value => {
      const name = limitName('jobs', 'tenant', fieldValue({ tenant: value }, 'tenant'))

      expect(name.isWellFormed()).toBe(true)
      expect(name).not.toMatch(/[\p{Cc}\p{Cn}]/u)
      expect(name.length).toBeLessThanOrEqual('jobs='.length + 40)
    },
  )

  it('of any text is well-formed and short, and differs where the texts differ', () => {
    fc.assert(
      fc.property(oddText, oddText, (one, other) => {
        const names = [one, other].map(value => fieldValue({ tenant: value }, 'tenant') ?? '')

        expect(names.every(name => name.isWellFormed() && name.length <= 40)).toBe(true)
        expect(names[0] === names[1]).toBe(one === other)
      }),
    )
  })

  it.each(['acme', 'Zürich', '東京', '👩‍👩‍👧', 'with space', '~', '='])(
    'of the value %j shows it as it is',
    value => {
      expect(fieldValue({ tenant: value }, 'tenant')).toBe(value)
      expect(limitValue(aTask({ userId: value }), 'userId')).toEqual({ known: true, value })
    },
  )
})
