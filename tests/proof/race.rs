//! The promise of confinement, under attackers that stand still and under attackers that move.

mod attack;
mod call;
pub(crate) mod ground;
mod raced;
mod scene;
mod swap;
mod table;

pub(crate) use self::attack::PROMISE as ATTACK;
pub(crate) use self::raced::PROMISE as RACE;
