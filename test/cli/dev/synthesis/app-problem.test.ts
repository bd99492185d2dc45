import { expect, it } from 'vitest'
import { appProblem } from '../../../../cli/dev/synthesis/synthesis.ts'

const project = { app: 'node app.ts', folder: '/projects/shop' }
const problem = (text: string) => appProblem(text, project, 1)

it('an error of the app is one line with its place in the project', () => {
  const text = `
/projects/shop/infra/app.ts:7
    new Queue(undefined, 'Q')
    ^

TypeError: Cannot read properties of undefined (reading 'node')
    at new Queue (/projects/shop/node_modules/aws-cdk-lib/aws-sqs/lib/queue.js:1:6543)
    at file:///projects/shop/infra/app.ts:7:5
    at ModuleJob.run (node:internal/modules/esm/module_job:329:25)

Node.js v24.1.0
`

  expect(problem(text)).toBe(
    "infra/app.ts:7: TypeError: Cannot read properties of undefined (reading 'node')",
  )
})

it('an error of a package is placed where the project called it', () => {
  const text = `
Error: boom
    at new Queue (/projects/shop/node_modules/aws-cdk-lib/aws-sqs/lib/queue.js:1:6543)
    at new Shop (/projects/shop/infra/shop.ts:12:18)
`

  expect(problem(text)).toBe('infra/shop.ts:12:18: Error: boom')
})

it("an error of Baton's says itself where it is", () => {
  const text = `
BatonError: tasks/resize.ts:12:4: Expected ";" but found "}"
    at build (/projects/shop/node_modules/baton-tasks/infra/bundling/esbuild.js:1:1)
    at file:///projects/shop/infra/app.ts:7:5
  code: 'invalid'
`

  expect(problem(text)).toContain('tasks/resize.ts:12:4: Expected ";" but found "}"')
  expect(problem(text)).not.toContain('BatonError')
})

it('a message of several lines stays whole', () => {
  const text =
    'ValidationError: Validation failed with the following errors:\n  [Shop/Tasks] 500 resources\n    at a (/x/y.js:1:1)\n'

  expect(problem(text)).toBe(
    'ValidationError: Validation failed with the following errors:\n  [Shop/Tasks] 500 resources',
  )
})

it('without an error that can be recognised, the end of the output is shown', () => {
  expect(problem('first\nsh: 1: nod: not found\n')).toBe(
    'the app (node app.ts) ended with status 1\nfirst\nsh: 1: nod: not found',
  )
})

it('without Docker one line names the construct that needs it', () => {
  const text = `
Error: Failed to bundle asset Shop/Thumbnails/Code/Stage, bundle output is located at /x: Error: spawnSync docker ENOENT
    at new AssetStaging (/projects/shop/node_modules/aws-cdk-lib/core/lib/asset-staging.js:1:1)
    at file:///projects/shop/infra/app.ts:7:5
`

  expect(problem(text)).toBe(
    "Shop/Thumbnails/Code/Stage is bundled in a container, and Docker does not work here: start Docker, or give its bundling a 'local' way",
  )
})
