import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { BuildOptions } from 'esbuild'

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
