import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { BuildOptions } from 'esbuild'
import { functionFile } from './function-file.ts'

/** CommonJS packages inside an ES module bundle call `require` for Node's own modules; ES modules have none. */
const REQUIRE_FOR_COMMON_JS =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);"

/** The AWS SDK is bundled, since the runtime's own lags behind the pinned one, and only what is used is loaded. */
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

/** The same for the system's own functions, without the SDK's search for credentials. */
export const SYSTEM_BUNDLING: BundlingOptions = {
  ...BUNDLING,
  esbuildArgs: { '--alias:@aws-sdk/credential-provider-node': functionFile('lambda-credentials.ts') },
}

/** The same for a container. */
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
