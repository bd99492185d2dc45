import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { BuildOptions } from 'esbuild'
import { functionFile } from './function-file.ts'

/** Gives an ES module bundle a `require`, with which its CommonJS packages load Node's own modules. */
const REQUIRE_FOR_COMMON_JS =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);"

/**
 * The options for handlers. They include the AWS SDK, because the runtime's SDK is older than the pinned one. A bundle loads
 * only what it uses.
 */
export const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  mainFields: ['module', 'main'],
  banner: REQUIRE_FOR_COMMON_JS,
  bundleAwsSDK: true,
  minify: true,
  sourceMap: true,
  sourcesContent: false,
}

/** The options for the system's own functions: those for handlers, but without parts of the SDK that they never use. */
export const SYSTEM_BUNDLING: BundlingOptions = {
  ...BUNDLING,
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': functionFile('lambda-credentials.ts'),
    '--alias:@aws-sdk/endpoint-cache': functionFile('no-endpoint-cache.ts'),
  },
}

/** The options for a worker in a container. */
export const IMAGE_BUNDLING: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  banner: { js: REQUIRE_FOR_COMMON_JS },
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'error',
}
