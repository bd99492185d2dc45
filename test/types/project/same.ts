export type Same<One, Other> =
  (<Any>() => Any extends One ? 1 : 2) extends <Any>() => Any extends Other ? 1 : 2 ? true : false

export type IsAny<One> = 0 extends 1 & One ? true : false

/** Compiles only if the condition is what is said. */
export function verify<Condition extends boolean>(_said: Condition): void {}
