/**
 * The runtime of a function's process. It loads the handler named by `_HANDLER` from `LAMBDA_TASK_ROOT`, and runs invocations
 * that arrive over IPC, one at a time. `sandbox.ts` starts this file; no file imports it.
 */
import { existsSync } from 'node:fs'
import { flushCompileCache, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InvocationError, InvocationRequest, SandboxMessage } from './protocol.ts'

type Handler = (event: unknown, context: unknown) => unknown

const send = (message: SandboxMessage) => process.send?.(message)

// A function must not outlive its cloud.
process.on('disconnect', () => process.exit(0))

offerRuntimeSdk()
await start()

async function start() {
  try {
    const handler = await loadHandler(
      process.env.LAMBDA_TASK_ROOT ?? '.',
      process.env._HANDLER ?? 'index.handler',
    )
    process.on('message', (request: InvocationRequest) => void run(handler, request))
    send({ kind: 'ready', stopsOnSignal: process.listenerCount('SIGTERM') > 0 })
    // The compile cache is written now, because this process is killed in the end and could not write it then.
    flushCompileCache()
  } catch (cause) {
    send({ kind: 'init-failed', error: { ...errorOf(cause), isLoadFailure: true } })
  }
}

async function run(handler: Handler, request: InvocationRequest) {
  const { requestId } = request
  process.env._X_AMZN_TRACE_ID = request.traceId
  try {
    const payload = (await handler(request.event, contextOf(request))) ?? null
    send({ kind: 'result', requestId, payload })
  } catch (cause) {
    send({ kind: 'error', requestId, error: errorOf(cause) })
  }
}

async function loadHandler(root: string, name: string): Promise<Handler> {
  const dot = name.lastIndexOf('.')
  const [base, exported] = [name.slice(0, dot), name.slice(dot + 1)]
  const file = ['.mjs', '.js', '.cjs'].map(extension => join(root, base + extension)).find(existsSync)
  if (!file) throw new Error(`Cannot find module '${base}' in ${root}`)
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  const handler = module[exported] ?? (module.default as Record<string, unknown> | undefined)?.[exported]
  if (typeof handler !== 'function') throw new Error(`${name} is undefined or not exported`)
  // Lambda's nodejs24.x refuses a third parameter even if the handler never uses it.
  if (handler.length > 2) throw new Error(`${name} takes a callback, which nodejs24.x does not support`)
  return handler as Handler
}

function contextOf({ requestId, timeoutMs, functionArn }: InvocationRequest) {
  const endsAt = performance.now() + timeoutMs
  return {
    awsRequestId: requestId,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    invokedFunctionArn: functionArn,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(endsAt - performance.now())),
  }
}

/** A bundle may omit the SDK because Lambda's runtime has it. Here this repository's SDK takes its place. */
function offerRuntimeSdk() {
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      try {
        return nextResolve(specifier, context)
      } catch (cause) {
        if (!/^@(aws-sdk|smithy)\//.test(specifier)) throw cause
        return nextResolve(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}

function errorOf(cause: unknown): InvocationError {
  if (!(cause instanceof Error)) return { errorType: 'Error', errorMessage: String(cause) }
  const trace = (cause.stack ?? '').split('\n').slice(1, 11)
  return { errorType: cause.name, errorMessage: cause.message, trace }
}
