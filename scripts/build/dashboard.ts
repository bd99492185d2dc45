import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type BuildOptions, build, type Metafile, stop } from 'esbuild'
import { ROOT } from './packages.ts'
import { buildReference, REFERENCE_SOURCES } from './reference/reference.ts'

/**
 * The build of the dashboard: one document, one style sheet, the code that each page needs, and the code of other pages in files of
 * their own. A browser loads these when a reader goes there. The reference of the HTTP API is a separate page.
 */

/** Where a checkout of the repository keeps its built dashboard. */
const DASHBOARD = join(ROOT, 'dist/dashboard')

const SOURCES = [
  ...['web/**/*.*', 'shared/client/**/*.ts', 'shared/api/paths.ts', 'package-lock.json'],
  ...REFERENCE_SOURCES,
]
const DOCUMENT = 'web/index.html'
const MAIN = 'web/main.tsx'
const FIRST_PAGES = [MAIN, 'web/overview/overview-page.tsx']

const OPTIONS: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  legalComments: 'none',
  // The client loads it to publish many tasks, which no page does.
  external: ['*/publish-many.ts'],
  metafile: true,
}

/** Builds the dashboard if it is missing or older than its sources. Returns its folder. It takes less than a second. */
export async function freshDashboard(): Promise<string> {
  const built = modifiedAt(join(DASHBOARD, 'index.html'))
  const files = globSync(SOURCES, { cwd: ROOT })
  if (files.some(file => modifiedAt(join(ROOT, file)) > built)) {
    const fresh = `${DASHBOARD}-${process.pid}`
    await buildDashboard(fresh)
    putInPlace(fresh)
    // Its process keeps 100 MB of what it has parsed. The next build starts another one.
    await stop()
  }
  return DASHBOARD
}

/** Puts a whole build in the place of the one before. Another process may serve that one, or put its own there at the same time. */
function putInPlace(fresh: string): void {
  const old = `${fresh}-old`
  move(DASHBOARD, old)
  move(fresh, DASHBOARD)
  for (const folder of [old, fresh]) rmSync(folder, { recursive: true, force: true })
}

/** Moves a folder, unless it does not exist, or its new path exists already. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw cause
  }
}

/** When the file was last written, in milliseconds since the epoch; 0 when there is no such file. */
function modifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Builds the dashboard into a folder. Returns the paths of all files that it contains, relative to the repository. */
export async function buildDashboard(folder: string): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const outdir = join(folder, 'assets')
  const [pages, first] = await Promise.all([
    build({ ...OPTIONS, outdir, splitting: true, entryPoints: [MAIN, 'web/styles/styles.css'] }),
    // It runs before the first paint, so it is a file of its own, without imports.
    build({ ...OPTIONS, outdir, format: 'iife', entryPoints: ['web/first-paint.ts'] }),
  ])
  const outputs = { ...pages.metafile?.outputs, ...first.metafile?.outputs }
  writeFileSync(join(folder, 'index.html'), documentWith(outputs))
  writeFileSync(join(folder, 'icon.svg'), readFileSync(join(ROOT, 'web/icon.svg')))
  buildReference(folder)
  return inputsOf(outputs)
}

/** The document with the paths of what was built. The browser loads what the first page needs at once, not one after the other. */
function documentWith(outputs: Metafile['outputs']): string {
  const pathOf = (entryPoint: string) =>
    Object.entries(outputs)
      .filter(([, output]) => output.entryPoint === entryPoint)
      .map(([file]) => `/assets/${basename(file)}`)
      .join()
  const preloads = neededAtFirst(outputs).map(
    path => `<link rel="modulepreload" href="/assets/${basename(path)}">`,
  )
  return readFileSync(join(ROOT, DOCUMENT), 'utf8')
    .replace('%FIRST_PAINT%', pathOf('web/first-paint.ts'))
    .replace('%STYLES%', pathOf('web/styles/styles.css'))
    .replace('%MAIN%', pathOf(MAIN))
    .replace('<!-- %PRELOADS% -->', preloads.join('\n    '))
}

/** The files of the code that every page needs, and of the overview, which is opened most often. */
function neededAtFirst(outputs: Metafile['outputs']): string[] {
  const first = Object.entries(outputs).filter(([, { entryPoint }]) => FIRST_PAGES.includes(entryPoint ?? ''))
  const imported = first.flatMap(([, { imports }]) =>
    imports.filter(({ kind }) => kind === 'import-statement'),
  )
  const [main] = first.find(([, { entryPoint }]) => entryPoint === MAIN) ?? []
  const files = new Set([...imported.map(({ path }) => path), ...first.map(([file]) => file)])
  return [...files].filter(file => file !== main)
}

function inputsOf(outputs: Metafile['outputs']): string[] {
  const inputs = Object.values(outputs).flatMap(output => Object.entries(output.inputs))
  return [...new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))]
}
