import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { changesBetween, summaryOf } from '../../../cli/dev/summary.ts'
import type { DeployedType, System } from '../../../cli/dev/synthesis/systems.ts'
import { aFolder } from '../../support/a-folder.ts'

const aType = (type: string, configuration: object = {}, more: Partial<DeployedType> = {}): DeployedType => ({
  type,
  kind: 'handler',
  servedBy: 'function',
  configuration: JSON.stringify(configuration),
  ...more,
})

const aSystem = (types: readonly DeployedType[], handlers: System['handlers'] = []): System => ({
  ...{ stackName: 'Shop', assemblyDir: '/out', label: 'Shop', text: '', types, handlers },
  ownFunctions: new Set(),
})

it('the summary has the address, each type with its file, and how a worker joins', () => {
  const folder = aFolder()
  const entry = join(folder, '.baton', 'entries', 'small.ts')
  mkdirSync(join(folder, '.baton', 'entries'), { recursive: true })
  const lines = [
    'import { executorOf } from "../../node_modules/baton-tasks/functions/executor/index.mjs"',
    'import { mail as task0 } from "../../tasks/mail.ts"',
    'import { resize as task1 } from "../../tasks/resize.ts"',
  ]
  writeFileSync(entry, lines.join('\n'))
  const bundle = { types: ['mail', 'resize'], entry, options: {}, nodeModules: [], root: folder }
  const types = [
    aType('resize'),
    aType('mail'),
    aType('video', {}, { servedBy: 'workers' }),
    aType('order', { steps: [{ name: 'reserve' }, { name: 'charge' }] }, { kind: 'flow' }),
    aType('webhook', {}, { kind: 'webhook' }),
  ]

  const text = summaryOf(aSystem(types, [{ functionId: 'Small', bundle }]), 'http://127.0.0.1:7070', folder)

  expect(text.split('\n')).toEqual([
    '  HTTP API  http://127.0.0.1:7070  (OpenAPI: http://127.0.0.1:7070/v1/openapi.json)',
    '  mail      tasks/mail.ts',
    '  order     flow: reserve → charge',
    '  resize    tasks/resize.ts',
    '  video     served by workers',
    '  webhook   calls a URL',
    'A worker of your own joins with: npx baton worker FILE --url http://127.0.0.1:7070',
  ])
})

it('the summary has the dashboard and the reference of the API, where they are served', () => {
  expect(summaryOf(aSystem([]), 'http://127.0.0.1:7070', '/', true).split('\n')).toEqual([
    '  dashboard  http://127.0.0.1:7070/',
    '  HTTP API   http://127.0.0.1:7070  (OpenAPI: http://127.0.0.1:7070/v1/openapi.json)',
    '  reference  http://127.0.0.1:7070/docs',
    'A worker of your own joins with: npx baton worker FILE --url http://127.0.0.1:7070',
  ])
})

it('a deployment is summarised by the types that it adds, changes and removes', () => {
  const before = aSystem([aType('resize'), aType('mail'), aType('old')])
  const after = aSystem([aType('resize', { defaults: {} }), aType('mail'), aType('thumb')])

  expect(changesBetween(before, after)).toBe('new: thumb; changed: resize; removed: old')
  expect(changesBetween(before, before)).toBe('resources changed')
})
