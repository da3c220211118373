//! Prediction: scores for the candidates of a query.

mod rules;
