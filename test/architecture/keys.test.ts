import { expect, it } from 'vitest'
import { sources } from './sources.ts'

/** Files that name what is in the table: partitions and sort keys, places, records, and bodies. */
const NAMING = [
  'shared/aws/dynamo/keys.ts',
  'shared/core/canvas/canvas.ts',
  'shared/core/place/halted.ts',
  'shared/core/place/place.ts',
  'shared/core/record-names.ts',
  'shared/core/task/head-fields.ts',
]

/** A text that begins as keys do: `'task#…'`. */
const KEY_PREFIX = /['"`][a-z]+#/

it('no file but those that name keys contains the prefix of a key', () => {
  const production = [...sources].filter(([file]) => !file.startsWith('test/'))

  const naming = production.filter(([, text]) => KEY_PREFIX.test(text)).map(([file]) => file)

  expect(naming).toEqual(NAMING)
})
