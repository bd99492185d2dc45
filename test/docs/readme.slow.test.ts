import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_OPTIONS } from '../../shared/core/options.ts'
import { fromSources, readmeSnippets } from '../support/snippets.ts'

const FOLDER = resolve('.baton/readme')

const [definition = '', client = '', flows = '', app = ''] = readmeSnippets('ts')

beforeAll(() => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(join(FOLDER, 'tasks'), { recursive: true })
  write('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', include: ['**/*.ts'] }))
  write('tasks/resize.ts', definition)
  write('tasks/video.ts', definition.replaceAll('resize', 'video'))
  write('client.ts', `${SURROUNDINGS_OF_CLIENT}${client}${CLAIMS_OF_CLIENT}`)
  write('flows.ts', `${SURROUNDINGS_OF_FLOWS}${flows}${CLAIMS_OF_FLOWS}`)
  write('app.ts', inAStack(app))
})

describe('the TypeScript of the README', () => {
  it('is a definition, its use by a client, flows, and an app', () => {
    expect(readmeSnippets('ts')).toHaveLength(4)
  })

  it('compiles, and refuses input that does not fit the schema', () => {
    const { status, stdout } = spawnSync('tsc', ['--project', FOLDER], { encoding: 'utf8' })

    expect(stdout).toBe('')
    expect(status).toBe(0)
  })

  it('is an app that synthesises', () => {
    const template = JSON.parse(execFileSync(process.execPath, ['app.ts'], { cwd: FOLDER, encoding: 'utf8' }))

    const resources = Object.entries<{ Type: string }>(template.Resources)
    const queues = resources.filter(([, { Type }]) => Type === 'AWS::SQS::Queue').map(([id]) => id)
    expect(queues).toContainEqual(expect.stringContaining('HandlersResizeTasksQueue'))
  })
})

it('the defaults that the README names are the defaults of the system', () => {
  const { retry, heartbeatMs, leaseMs } = DEFAULT_OPTIONS

  expect(retry).toMatchObject({ maxRetries: 3, backoff: 'exponential', delayMs: 1_000 })
  expect([heartbeatMs, leaseMs]).toEqual([5_000, 15_000])
})

const SURROUNDINGS_OF_CLIENT = `
import { resize } from './tasks/resize.ts'
declare const url: string
`

/** What the README promises about the types. */
const CLAIMS_OF_CLIENT = `
export const typed: { bytes: number; width: number } = done
// @ts-expect-error
await baton.publish(resize, { url: 'https://example.com/cat.png', width: 'wide' })
`

const SURROUNDINGS_OF_FLOWS = `
import { createClient, defineTask } from 'baton-tasks'
import { z } from 'zod'
import { resize } from './tasks/resize.ts'
const baton = createClient({ url: 'http://127.0.0.1:7070' })
const item = z.object({ sku: z.string() })
const reserveStock = defineTask('reserve-stock', { input: item, run: () => ({ shelf: 4 }) })
const freeStock = defineTask('free-stock', { input: item, run: () => null })
const charge = defineTask('charge', { input: z.object({ cents: z.int() }), run: () => ({ payment: 'p-1' }) })
const refund = defineTask('refund', { run: () => null })
const ship = defineTask('ship', { input: item, run: () => ({ parcel: 'x' }) })
const montage = defineTask('montage', { run: (_input, { previous }) => previous })
const [small, large] = [80, 800].map(width => ({ url: 'https://example.com/cat.png', width })) as [
  { url: string; width: number },
  { url: string; width: number },
]
`

const CLAIMS_OF_FLOWS = `
// @ts-expect-error
await baton.publish(order, { sku: 'cat-7' })
`

/** The snippet in the constructor it belongs to, with a function to give the URL to; prints the template. */
function inAStack(code: string): string {
  const [imports, statements] = [/^import .*$/gm, /^(?!import ).*$/gm].map(lines =>
    code.match(lines)?.join('\n'),
  )
  return `
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Code, Function, Runtime } from 'aws-cdk-lib/aws-lambda'
${imports}

class Example extends Stack {
  constructor() {
    super(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'Example')
    const code = Code.fromInline('…')
    const otherFunction = new Function(this, 'Other', { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code })
    ${statements}
  }
}

console.log(JSON.stringify(Template.fromStack(new Example()).toJSON()))
`
}

function write(name: string, text: string): void {
  const file = join(FOLDER, name)
  writeFileSync(file, fromSources(text, dirname(file)))
}
