/**
 * The runtime of a function's process. It loads the handler named by `_HANDLER` from `LAMBDA_TASK_ROOT`, and runs invocations
 * that arrive over IPC, one at a time. `sandbox.ts` starts this file; no file imports it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { ResolveFnOutput, ResolveHookContext, ResolveHookSync } from 'node:module'
import { createRequire, flushCompileCache, registerHooks } from 'node:module'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InvocationError, InvocationRequest, SandboxMessage } from './sandbox.ts'

type Handler = (event: unknown, context: unknown) => unknown

const send = (message: SandboxMessage) => process.send?.(message)

// A function must not outlive its cloud.
process.on('disconnect', () => process.exit(0))

const requireHere = createRequire(import.meta.url)
const taskRoot = process.env.LAMBDA_TASK_ROOT ?? '.'
const handlerName = process.env._HANDLER ?? 'index.handler'

offerRuntimeSdk()
await start()

async function start() {
  const serve = (handler: Handler) =>
    process.on('message', (request: InvocationRequest) => void run(handler, request))
  try {
    serve(await loadHandler(taskRoot, handlerName))
    send({ kind: 'ready', stopsOnSignal: process.listenerCount('SIGTERM') > 0 })
    // The compile cache is written now, because this process is killed in the end and could not write it then.
    flushCompileCache()
  } catch (cause) {
    const standIn = await loadStandIn(cause)
    if (standIn) serve(standIn)
    const hasStandIn = standIn !== undefined
    send({ kind: 'init-failed', error: { ...loadErrorOf(cause), isLoadFailure: true, hasStandIn } })
  }
}

/** The file next to the handler's that makes a handler of why the code does not load. Only handlers of `baton dev` have one. */
async function loadStandIn(cause: unknown): Promise<Handler | undefined> {
  const file = join(taskRoot, 'stand-in.mjs')
  if (!existsSync(file)) return undefined
  const { standIn } = (await import(pathToFileURL(file).href)) as { standIn(cause: unknown): Handler }
  return standIn(cause)
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

function handlerFile(root: string, name: string): string | undefined {
  const base = name.slice(0, name.lastIndexOf('.'))
  return ['.mjs', '.js', '.cjs'].map(extension => join(root, base + extension)).find(existsSync)
}

async function loadHandler(root: string, name: string): Promise<Handler> {
  const exported = name.slice(name.lastIndexOf('.') + 1)
  const file = handlerFile(root, name)
  if (!file) throw new Error(`Cannot find the module of ${name} in ${root}`)
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

/**
 * Inline code, and a bundle that leaves the SDK out, may import the SDK because Lambda's runtime has it. Here the project's takes its
 * place, or else one that is installed next to the local system. There is none of its own: the whole SDK would take hundreds of MB.
 */
function offerRuntimeSdk() {
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      try {
        return nextResolve(specifier, context)
      } catch (cause) {
        const [name] = /^@(?:aws-sdk|smithy)\/[^/]+/.exec(specifier) ?? []
        if (name === undefined || context.parentURL === import.meta.url) throw cause
        return resolveHere(name, specifier, context, nextResolve)
      }
    },
  })
}

function resolveHere(
  name: string,
  specifier: string,
  context: ResolveHookContext,
  nextResolve: Parameters<ResolveHookSync>[2],
): ResolveFnOutput {
  try {
    if (!context.conditions.includes('require'))
      return nextResolve(specifier, { ...context, parentURL: import.meta.url })
    // For `require`, Node does not look at another `parentURL`.
    return { url: pathToFileURL(requireHere.resolve(specifier)).href, shortCircuit: true }
  } catch (cause) {
    throw new Error(missingSdk(name), { cause })
  }
}

function missingSdk(name: string): string {
  return (
    `'${name}' is not installed here. On AWS the SDK of Lambda's runtime has it; ` +
    `the local system takes the SDK of your project: npm install --save-dev ${name}`
  )
}

/** A syntax error carries no place. Node names the place when it checks the file alone. */
function loadErrorOf(cause: unknown): InvocationError {
  const error = errorOf(cause)
  const file = cause instanceof SyntaxError && handlerFile(taskRoot, handlerName)
  if (!file) return error
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  const [, line] = /:(\d+)$/.exec(stderr.split('\n')[0] ?? '') ?? []
  const place = line === undefined ? basename(file) : `${basename(file)}:${line}`
  return { ...error, errorMessage: `${error.errorMessage} (${place})` }
}

function errorOf(cause: unknown): InvocationError {
  if (!(cause instanceof Error)) return { errorType: 'Error', errorMessage: String(cause) }
  const trace = (cause.stack ?? '').split('\n').slice(1, 11)
  return { errorType: cause.name, errorMessage: cause.message, trace }
}
