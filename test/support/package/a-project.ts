import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve, sep } from 'node:path'
import { aFolder } from '../a-folder.ts'

/** A user's project in a folder outside the repository, with the npm of the machine, and its Node if no other one is given. */
export type Project = {
  readonly folder: string
  /** The folder with the Node of the project. @default the Node of the machine */
  readonly nodeFolder: string | undefined
  /** Runs a program in the project. The answer holds all that it wrote. */
  run(command: string, ...args: readonly string[]): { readonly status: number; readonly output: string }
  /** Runs a program that must succeed, and returns what it wrote. */
  succeed(command: string, ...args: readonly string[]): string
  write(files: Readonly<Record<string, string>>): void
}

type ProjectSettings = {
  readonly files: Readonly<Record<string, string>>
  /** The packages to install: a name, with a version or a `file:` path. */
  readonly packages: Readonly<Record<string, string>>
  readonly manager?: Manager
}

export type Manager = 'npm' | keyof typeof PROGRAMS

/** The programs of the package managers that the machine need not have. */
const PROGRAMS = {
  pnpm: 'pnpm/bin/pnpm.cjs',
  'yarn 1': 'yarn/bin/yarn.js',
  'yarn 4': '@yarnpkg/cli-dist/bin/yarn.js',
}

/** Creates a project, and installs its packages. */
export function aProject({ files, packages, manager = 'npm' }: ProjectSettings): Project {
  const project = emptyProject()
  const manifest = { name: 'a-project', private: true, type: 'module', dependencies: packages }
  project.write({ 'package.json': JSON.stringify(manifest), ...files })
  install(project, manager)
  return project
}

export function install(project: Project, manager: Manager = 'npm'): void {
  const quietly = manager === 'npm' ? ['--no-audit', '--no-fund'] : []
  const offline = manager === 'yarn 4' ? [] : ['--prefer-offline']
  project.succeed(...managerCommand(manager, 'install', ...offline, ...quietly))
}

/** A command of a package manager, on the Node of the project. */
export function managerCommand(manager: Manager, ...args: readonly string[]): [string, ...string[]] {
  return manager === 'npm' ? ['npm', ...args] : ['node', resolve('node_modules', PROGRAMS[manager]), ...args]
}

/** A folder of a project as a project, such as one of a workspace. */
export function within(project: Project, folder: string): Project {
  return projectIn(join(project.folder, folder), project.nodeFolder)
}

/** A folder outside the repository without anything in it. */
export function emptyProject(nodeFolder?: string): Project {
  return projectIn(aFolder(), nodeFolder)
}

function projectIn(folder: string, nodeFolder?: string): Project {
  const run = (command: string, ...args: readonly string[]) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: folder,
      env: machineEnvironment(nodeFolder),
      encoding: 'utf8',
    })
    return { status: status ?? -1, output: `${stdout}${stderr}${error ?? ''}` }
  }
  return {
    ...{ folder, nodeFolder, run },
    succeed: (command, ...args) => {
      const { status, output } = run(command, ...args)
      if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${output}`)
      return output
    },
    write: files => {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, name), text)
      }
    },
  }
}

/** The versions of this repository, for packages that a user's project has, too. */
export function versionsOf(...names: readonly string[]): Record<string, string> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const versions = { ...dependencies, ...devDependencies }
  return Object.fromEntries(names.map(name => [name, versions[name]]))
}

/** The environment without what npm adds for this repository: its programs, with its own Node, and its settings. */
export function machineEnvironment(nodeFolder?: string): NodeJS.ProcessEnv {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const own = folders.filter(folder => !folder.includes(`${sep}node_modules${sep}`) && !isDirectNpx(folder))
  const rest = Object.entries(process.env).filter(
    ([name]) => !/^(npm_.*|VITEST.*|NODE_(OPTIONS|ENV|PATH))$/i.test(name),
  )
  return {
    ...Object.fromEntries(rest),
    PATH: [...(nodeFolder === undefined ? [] : [nodeFolder]), ...own].join(delimiter),
  }
}

/** The tests' own `npx` runs programs of this repository. */
function isDirectNpx(folder: string): boolean {
  return existsSync(join(folder, 'npx')) && !existsSync(join(folder, 'npm'))
}

/** The folder with the program of Node in this version. It is downloaded unless the tests run on it. */
export function nodeFolderOf(major: number): string {
  if (process.versions.node.startsWith(`${major}.`)) return dirname(process.execPath)
  const { platform, arch } = process
  const name = `node-${platform === 'darwin' && arch === 'arm64' ? 'bin-' : ''}${platform}-${arch}`
  const project = emptyProject()
  project.write({ 'package.json': '{}' })
  project.succeed('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', `${name}@${major}`)
  return join(project.folder, 'node_modules', name, 'bin')
}
