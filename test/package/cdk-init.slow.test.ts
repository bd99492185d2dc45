import { basename, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { emptyProject, install } from '../support/package/a-project.ts'
import { describeDev } from '../support/package/quickstart.ts'
import { type Starter, starterIn } from '../support/package/starter.ts'
import { tarballs } from '../support/package/tarballs.ts'

/** `baton init` in the app that `cdk init` makes: a CommonJS project with TypeScript 5, ts-node and jest. */
describe('a stock CDK app', () => {
  let app: Starter

  beforeAll(async () => {
    const files = await tarballs()
    const project = emptyProject()
    const cdk = resolve('node_modules/aws-cdk/bin/cdk')
    project.succeed(process.execPath, cdk, 'init', 'app', '--language', 'typescript', '--generate-only')
    app = starterIn(project, 'npm')
    const packages = ['baton-tasks', 'baton-tasks-local'].map(name => `file:${files[name]}`)
    app.succeed('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', ...packages)
    app.succeed(...app.execute, 'baton', 'init')
    install(app)
    const main = `bin/${basename(app.folder)}.ts`
    const stack = "\nimport { TasksStack } from '../tasks-stack'\nnew TasksStack(app, 'Tasks')\n"
    app.write({ [main]: `${app.read(main)}${stack}` })
  })

  it('type-checks and passes its own tests and those of the starter', () => {
    app.succeed(...app.execute, 'tsc', '--noEmit')
    app.script('test')
    app.script('test:tasks')
  })

  it('synthesises both of its stacks', () => {
    const ids = app.succeed(...app.execute, 'cdk', 'list')

    expect(ids).toMatch(/^Tasks$/m)
    expect(app.read('cdk.out/Tasks.template.json')).toContain('Tasks-q-welcome')
  })

  describeDev(() => app)
})
