/** A promise that is settled from outside. */
export type Deferred<Value> = {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
  readonly reject: (reason: unknown) => void
}

/** `Promise.withResolvers` would need Node 22, and users' workers and tests run on Node 20. */
export function deferred<Value>(): Deferred<Value> {
  let [resolve, reject]: [Deferred<Value>['resolve'], Deferred<Value>['reject']] = [() => {}, () => {}]
  const promise = new Promise<Value>((settle, refuse) => {
    resolve = settle
    reject = refuse
  })
  return { promise, resolve, reject }
}
