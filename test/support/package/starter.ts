import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  emptyProject,
  install,
  type Manager,
  managerCommand,
  nodeFolderOf,
  type Project,
  within,
} from './a-project.ts'
import { tarballs } from './tarballs.ts'

/** How users install the packages: their package manager, and what their `package.json` names. */
export type Installation = {
  readonly manager: Manager
  /** Whether the packages are folders of the project instead of tarballs. */
  readonly fromFolders?: boolean
  /** Whether the project is the folder `apps/tasks` of a workspace. */
  readonly inWorkspace?: boolean
  /** @default the Node of the machine */
  readonly node?: number
  /** The version of TypeScript. @default as the starter has it */
  readonly typescript?: string
  /** Whether the user has made the project one of CommonJS modules. */
  readonly isCommonJs?: boolean
}

/** A project that the starter has made, installed and ready. */
export type Starter = Project & {
  /** The beginning of a command that runs a program of the project's packages. */
  readonly execute: readonly [string, ...string[]]
  /** Runs a script of the project's `package.json`, which must succeed. */
  script(name: string): string
  read(file: string): string
}

type Files = Readonly<Record<string, string>>

export async function aStarter(way: Installation): Promise<Starter> {
  const { manager, fromFolders, inWorkspace, node } = way
  const files = await tarballs()
  const root = inWorkspace ? aWorkspace() : emptyProject(node === undefined ? undefined : nodeFolderOf(node))
  create(root, manager, files, inWorkspace ? WORKSPACE_FOLDER : '.')
  const project = inWorkspace ? within(root, WORKSPACE_FOLDER) : root
  change(project, fromFolders ? vendored(project, files) : files, way)
  install(root, manager)
  return {
    ...project,
    execute: manager === 'npm' ? ['npx', '--no-install'] : managerCommand(manager, ...EXECUTE[manager]),
    script: name => project.succeed(...managerCommand(manager, 'run', name)),
    read: file => readFileSync(join(project.folder, file), 'utf8'),
  }
}

const EXECUTE = { pnpm: ['exec'], 'yarn 1': ['--silent', 'run'], 'yarn 4': ['run'] }

const WORKSPACE_FOLDER = 'apps/tasks'

/** Both package managers find the projects of the workspace: each reads another of the two files. */
function aWorkspace(): Project {
  const root = emptyProject()
  root.write({
    'package.json': JSON.stringify({ name: 'a-workspace', private: true, workspaces: ['apps/*'] }),
    'pnpm-workspace.yaml': 'packages:\n  - apps/*\n',
  })
  return root
}

/** `npm create baton-tasks` and so on, with the package of this build. Yarn 1 has no way to run a package that is a file. */
function create(root: Project, manager: Manager, files: Files, folder: string): void {
  const file = `file:${files[STARTER]}`
  const commands: Record<Manager, () => [string, ...string[]]> = {
    npm: () => managerCommand('npm', 'exec', '--yes', `--package=${file}`, STARTER),
    pnpm: () => managerCommand('pnpm', `--package=${file}`, 'dlx', STARTER),
    'yarn 1': () => commands.npm(),
    'yarn 4': () => managerCommand('yarn 4', 'dlx', '--package', `${STARTER}@${file}`, STARTER),
  }
  root.succeed(...commands[manager](), folder)
  if (manager === 'yarn 4')
    root.write({ '.yarnrc.yml': 'nodeLinker: node-modules\nenableImmutableInstalls: false\n' })
}

const STARTER = 'create-baton-tasks'

/** Unpacks the packages below the project, whose compiler leaves them out, and returns the path of each. */
function vendored(project: Project, files: Files): Files {
  const folders = Object.entries(files).map(([name, file]) => {
    const folder = `vendor/${name}`
    project.write({ [`${folder}/.keep`]: '' })
    project.succeed('tar', '-xzf', file, '--strip-components=1', '--directory', folder)
    return [name, folder]
  })
  const settings = join(project.folder, 'tsconfig.json')
  const text = readFileSync(settings, 'utf8').replace('"exclude": [', '"exclude": ["vendor", ')
  writeFileSync(settings, text)
  return Object.fromEntries(folders)
}

/** The starter names versions on npm. Here the packages of this build stand for them. The user may change more. */
function change(project: Project, places: Files, { manager, isCommonJs, typescript }: Installation): void {
  const path = join(project.folder, 'package.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  for (const kind of ['dependencies', 'devDependencies']) {
    for (const name of Object.keys(manifest[kind])) {
      if (places[name] !== undefined) manifest[kind][name] = `file:${places[name]}`
    }
  }
  // Yarn looks up what `aws-cdk-lib` has in its tarball, and the registry lacks that version.
  if (manager.startsWith('yarn')) manifest.resolutions = { '@aws/cloudformation-validate': '1.9.0-beta' }
  if (isCommonJs) manifest.type = 'commonjs'
  if (typescript !== undefined) manifest.devDependencies.typescript = typescript
  writeFileSync(path, JSON.stringify(manifest))
}
