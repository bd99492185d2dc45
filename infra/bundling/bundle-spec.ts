/** The key of the metadata by which a function in the template carries its `BundleSpec`. */
export const BUNDLE_METADATA = 'baton:bundle'

/**
 * The bundle of a handler's function. Under `baton dev` the constructs write it into the template in place of finished code, and
 * `baton dev` bundles the code itself.
 */
export type BundleSpec = {
  readonly types: readonly string[]
  /** Absolute path of the generated file that exports the handler. */
  readonly entry: string
  /** Absolute path of the executor, as the entry imports it. */
  readonly runtime?: string
  /** esbuild's options, as JSON. */
  readonly options: Readonly<Record<string, unknown>>
  /** Packages that stay outside of the bundle. */
  readonly nodeModules: readonly string[]
  /** The folder from which these packages are found. */
  readonly root: string
}
