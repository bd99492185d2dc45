import { describe, expect, it } from 'vitest'
import { replaced } from './changed-source.ts'
import { SOURCE_FAULTS } from './source-faults.ts'

describe('a replacement of source text', () => {
  it.each(SOURCE_FAULTS.map(fault => [fault.name, fault] as const))(
    'still fits the source: %s',
    (_name, { replacements }) => {
      const changed = replaced(replacements)

      expect(Object.keys(changed)).not.toEqual([])
    },
  )

  it('fails when its text is not in the source', () => {
    const unknown = { path: 'shared/core/values/text.ts', old: 'a text that no file contains', new: '' }

    expect(() => replaced([unknown])).toThrow('must contain this text once')
  })
})
