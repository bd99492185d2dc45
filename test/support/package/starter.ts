import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyProject, install, type Manager, managerCommand, type Project, within } from './a-project.ts'
import { tarballs } from './tarballs.ts'

/** How users install the packages: their package manager, and what their `package.json` names. */
export type Installation = {
  readonly manager: Manager
  /** Whether the packages are folders of the project instead of tarballs. */
  readonly fromFolders?: boolean
  /** Whether the project is the folder `apps/tasks` of a workspace. */
  readonly inWorkspace?: boolean
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

export async function aStarter({ manager, fromFolders, inWorkspace }: Installation): Promise<Starter> {
  const files = await tarballs()
  const root = inWorkspace ? aWorkspace() : emptyProject()
  create(root, manager, files, inWorkspace ? WORKSPACE_FOLDER : '.')
  const project = inWorkspace ? within(root, WORKSPACE_FOLDER) : root
  usePackages(project, fromFolders ? vendored(project, files) : files)
  install(root, manager)
  return {
    ...project,
    execute: manager === 'npm' ? ['npx', '--no-install'] : managerCommand('pnpm', 'exec'),
    script: name => project.succeed(...managerCommand(manager, 'run', name)),
    read: file => readFileSync(join(project.folder, file), 'utf8'),
  }
}

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

/** `npm create baton-tasks` and `pnpm create baton-tasks`, with the package of this build. */
function create(root: Project, manager: Manager, files: Files, folder: string): void {
  const specifier = `--package=file:${files[STARTER]}`
  const args = manager === 'npm' ? ['exec', '--yes', specifier, STARTER] : [specifier, 'dlx', STARTER]
  root.succeed(...managerCommand(manager, ...args, folder))
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

/** The starter names versions on npm. Here the packages of this build stand for them. */
function usePackages(project: Project, places: Files): void {
  const path = join(project.folder, 'package.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  for (const kind of ['dependencies', 'devDependencies']) {
    for (const name of Object.keys(manifest[kind])) {
      if (places[name] !== undefined) manifest[kind][name] = `file:${places[name]}`
    }
  }
  writeFileSync(path, JSON.stringify(manifest))
}
