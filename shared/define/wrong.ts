/** The error messages that the compiler shows for what no plain type can refuse. */

declare const PROBLEM: unique symbol

/**
 * A type that no value has. The compiler prints it when a value stands in its place, so `Problem` says what is wrong, and `Fields` which
 * fields are concerned.
 */
export interface Wrong<Problem extends string, Fields extends string = never> {
  readonly [PROBLEM]: readonly [Problem, Fields]
}

/** Refuses the members of an object whose names are not known. The compiler itself accepts them where it infers a type. */
export type Known<Given, Names> = {
  readonly [Name in Exclude<keyof Given, Names>]: Wrong<`'${Name & string}' is not a field here`>
}
