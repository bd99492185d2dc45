import type { BuildOptions } from 'esbuild'
import { sourceFile } from './runtime-module.ts'

/** Gives an ES module bundle a `require`, with which its CommonJS packages load Node's own modules. */
const REQUIRE_FOR_COMMON_JS =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);"

/**
 * The options of every bundle. A bundle includes the AWS SDK, because the runtime's SDK is older than the pinned one. It
 * contains only what its code uses. esbuild reports problems by its answer, so it writes nothing itself.
 */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  banner: { js: REQUIRE_FOR_COMMON_JS },
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'silent',
} as const satisfies BuildOptions

/** The options for the system's own functions: they leave out parts of the SDK that these functions never use. */
export const SYSTEM_OPTIONS: BuildOptions = {
  ...BUNDLE_OPTIONS,
  alias: {
    '@aws-sdk/credential-provider-node': sourceFile('lambda-credentials.ts'),
    '@aws-sdk/endpoint-cache': sourceFile('no-endpoint-cache.ts'),
    '@smithy/core/event-streams': sourceFile('no-event-streams.ts'),
  },
}
