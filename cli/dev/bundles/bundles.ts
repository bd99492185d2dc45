/**
 * The code of handlers. A handler is bundled when it gets its first message, so that 90 handlers do not delay the start. From then on
 * esbuild keeps what it has parsed, and bundles again in some 50 ms when a file of the bundle changes (`bundle.ts`).
 *
 * The executor with its AWS SDK is most of a handler's code, and never changes in a user's project. It is a bundle of its own, which
 * the bundles of all handlers import. On AWS it is a part of each of them.
 */

import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { BundleSpec } from '../../../infra/bundling/esbuild.ts'
import { messageOf } from '../../../shared/core/values/values.ts'
import type { Project } from '../synthesis/synthesis.ts'
import { type Bundle, openBundle } from './bundle.ts'

/** Why new code does not run, and whether earlier code keeps running. */
export type CodeProblem = { readonly problem: string; readonly hasEarlier: boolean }

/** A bundle that has been made again. */
export type Rebuilt = {
  readonly key: string
  readonly types: readonly string[]
  /** The folder with its code, or why there is none. It is undefined when the code is the same as before. */
  readonly outcome: { readonly folder: string } | CodeProblem | undefined
}

export type Bundles = ReturnType<typeof createBundles>

/** Files that change how code is bundled, and that no bundle lists. */
const SETTINGS = /^(?:tsconfig.*\.json|package\.json)$/

/** `onInputs` receives the files that a bundle was made from, after each time that it was made. */
export function createBundles(
  project: Project,
  onInputs: (files: readonly string[]) => void = () => undefined,
) {
  const root = join(project.generated, 'dev')
  rmSync(root, { recursive: true, force: true })
  const bundles = new Map<string, Bundle>()
  const runtimes = createRuntimes(project, root, onInputs)

  function bundleOf(key: string, spec: BundleSpec): Bundle {
    const known = bundles.get(key)
    if (known && JSON.stringify(known.spec) === JSON.stringify(spec)) return known
    void known?.dispose()
    const fresh = openBundle({ project, root: join(root, key), spec, runtime: runtimes.of(spec), onInputs })
    bundles.set(key, fresh)
    return fresh
  }

  return {
    /**
     * Returns the folder with the code of a function, and bundles it at the first call. `key` names the function.
     *
     * @throws BatonError `invalid` with file, line and message when esbuild refuses the code.
     */
    folderOf: async (key: string, spec: BundleSpec) => {
      const bundle = bundleOf(key, spec)
      return bundle.folder() ?? bundle.build()
    },
    /** Bundles again what was made from one of these files, and what could not be bundled before. */
    rebuild: async (files: ReadonlySet<string>) => {
      const isForAll = [...files].some(file => SETTINGS.test(basename(file)))
      const affected = [...bundles].filter(([, bundle]) => isForAll || bundle.dependsOn(files))
      await runtimes.rebuild(files)
      return Promise.all(affected.map(([key, bundle]) => again(key, bundle)))
    },
    stop: async () => {
      await Promise.all([...bundles.values(), ...runtimes.all()].map(bundle => bundle.dispose()))
    },
  }
}

async function again(key: string, bundle: Bundle): Promise<Rebuilt> {
  const { types } = bundle.spec
  const before = bundle.latest()
  try {
    const folder = await bundle.build()
    return { key, types, outcome: folder === before ? undefined : { folder } }
  } catch (error) {
    return { key, types, outcome: { problem: messageOf(error), hasEarlier: before !== undefined } }
  }
}

/** The options that belong to a handler's own code, and would make an executor of its own for each of them. */
const OWN_OPTIONS = { define: undefined, loader: undefined, external: undefined, tsconfig: undefined }

/** The bundles of the executor: one for all handlers, except for those with another language level or the like. */
function createRuntimes(project: Project, root: string, onInputs: (files: readonly string[]) => void) {
  const runtimes = new Map<string, Bundle>()
  return {
    all: () => [...runtimes.values()],
    of: ({ runtime, options, root: from }: BundleSpec): Bundle | undefined => {
      if (runtime === undefined) return undefined
      const key = JSON.stringify([runtime, { ...options, ...OWN_OPTIONS }])
      const place = join(root, 'executor', String(runtimes.size))
      const spec = { types: ['the executor'], entry: runtime, nodeModules: [], root: from }
      const known = runtimes.get(key)
      const found =
        known ??
        openBundle({
          project,
          root: place,
          onInputs,
          spec: { ...spec, options: { ...options, ...OWN_OPTIONS } },
        })
      runtimes.set(key, found)
      return found
    },
    /** A failed build is not reported here: each bundle that needs this one reports it. */
    rebuild: async (files: ReadonlySet<string>) => {
      const affected = [...runtimes.values()].filter(one => one.dependsOn(files))
      await Promise.all(affected.map(one => one.build().catch(() => undefined)))
    },
  }
}
