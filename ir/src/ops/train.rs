//! Training: losses, derivatives, optimizers, dropout.

super::families![
    dropout,
    gradient,
    loss,
    optimizer,
];
