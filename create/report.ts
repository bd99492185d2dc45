import { relative } from 'node:path'
import type { Scaffolded } from './scaffold.ts'

/** What the starter has written, and what to do next, as lines for a terminal. */
export function report(scaffolded: Scaffolded, cwd: string, manager: string): string {
  const { folder, written, kept, hadApp, scripts } = scaffolded
  const where = relative(cwd, folder)
  const enter = where === '' ? [] : [`  cd ${where}`]
  return [
    ...written.map(file => `wrote ${file}`),
    ...kept.map(file => `kept ${file}, which was there already`),
    '',
    ...(hadApp ? ADD_THE_STACK : []),
    ...remarks(scaffolded),
    'Next:',
    ...enter,
    `  ${manager} install`,
    `  ${manager} run ${scripts.test}`,
    `  ${manager} run ${scripts.dev}`,
    '',
    'The local system needs Java 17 or later on the PATH. The guides are in node_modules/baton-tasks/docs.',
  ].join('\n')
}

/** What an existing app has to change by itself, because no file of it is overwritten. */
function remarks({ outdated, keepsGenerated }: Scaffolded): string[] {
  const lines = [
    ...outdated.map(
      ({ name, own, needed }) =>
        `Update ${name} first: baton-tasks needs ${needed} or later, and ${own} is older.`,
    ),
    ...(keepsGenerated ? ['Add .baton/ to .gitignore: it holds generated files.'] : []),
  ]
  return lines.length === 0 ? [] : [...lines, '']
}

const ADD_THE_STACK = [
  'Create the stack in your CDK app:',
  "  import { TasksStack } from '../tasks-stack'   // in an ES module: '../tasks-stack.js'",
  "  new TasksStack(app, 'Tasks')",
  '',
]

/** The package manager that runs this program, by the variable that all of them set; npm without it. */
export function packageManager(userAgent: string | undefined): string {
  const name = /^(pnpm|yarn|bun|npm)\//.exec(userAgent ?? '')?.[1]
  return name ?? 'npm'
}
