import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { aSystem, readTemplate } from '../infra/synthesised.ts'

const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
/** The table of alarms. Further tables of the page list metrics and actions. */
const [tableOfAlarms = ''] = /^\| alarm .*?\n\n/ms.exec(text) ?? []

it('docs/operations.md says what to do about every alarm', () => {
  const { stack, tasks } = aSystem({ alarms: 'all' })
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts' })
  tasks.addWorkerService('Media', { entry: 'test/infra/fixtures/two-tasks.ts' })
  const documented = [...tableOfAlarms.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name = '']) => name)

  const alarms = readTemplate(stack).ofType('AWS::CloudWatch::Alarm')

  const names = alarms.map(({ id }) => id.replace(/[0-9A-F]{8}$/, ''))
  expect(names.filter(name => !documented.some(end => name.endsWith(end)))).toEqual([])
  expect(documented.filter(end => !names.some(name => name.endsWith(end)))).toEqual([])
})
